/** The pictures of graphs in the documentation: `npm run draw` draws them again, this says whether they are up to date. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { drawGraph } from '../../src/canvas/draw';
import { makeCatalogue } from '../../src/graph/catalogue';
import { readDocument } from '../../src/graph/read';
import { nodeTypes, program } from './real';

const ROOT = new URL('../../../', import.meta.url).pathname;
const IMAGES = `${ROOT}docs/images/graphs`;
/** Where patterns are that pages show, each in a folder of its own. */
const FOLDERS = ['docs/graphs', 'examples'];

const read = (path: string): string => readFileSync(path, 'utf8');

/** What pages show: name of the picture, and the pattern. */
const drawings = FOLDERS.flatMap((folder) =>
  readdirSync(ROOT + folder)
    .map((name) => ({ name, pattern: `${ROOT}${folder}/${name}/pattern.json` }))
    .filter(({ pattern }) => existsSync(pattern)),
);
const pages = ['docs', 'docs/recipes']
  .flatMap((folder) => readdirSync(ROOT + folder).map((name) => `${ROOT}${folder}/${name}`))
  .filter((path) => path.endsWith('.md'))
  .map(read)
  .join('\n');
const shown = drawings.filter(({ name }) => pages.includes(`images/graphs/${name}.svg`));

describe.runIf(program)('pictures of graphs', () => {
  test.each(shown)('$name is drawn as it is', async ({ name, pattern }) => {
    const { graphData, nodeDefinitions, ...graph } = JSON.parse(read(pattern)) as Record<string, unknown>;
    const { doc } = readDocument(graphData ?? graph, nodeDefinitions);
    const tokens = read(`${ROOT}console/src/style/tokens.css`);
    const title = `The graph of ${name.replaceAll('-', ' ')}`;
    const drawn = drawGraph(makeCatalogue(nodeTypes()), doc, title, tokens);
    await expect(drawn).toMatchFileSnapshot(`${IMAGES}/${name}.svg`);
  });

  test('every picture is shown by a page', () => {
    expect(shown.length).toBeGreaterThan(8);
    expect(readdirSync(IMAGES).sort()).toEqual(shown.map(({ name }) => `${name}.svg`).sort());
  });
});
