/**
 * A graph as a picture for documents: what the canvas draws, as one SVG in light and dark colours. Pure; the same graph
 * gives the same text.
 */
import { fitted, boundsOf, grown } from '../graph/geometry';
import type { Catalogue } from '../graph/catalogue';
import { EMPTY_DOC, type Doc } from '../graph/model';
import { pathOf } from './icon-path';
import { edgePath } from './paths';
import { makeScene, type EdgeView, type NodeView } from './scene';

const MARGIN = 16;
/** Corners, and those of the sides at which a graph begins and ends. */
const CORNER = 10;
const ROUND = 30;
const ICON = 36;
const PADDING = 12;
const NAMES = ['raised', 'panel', 'text', 'dim', 'bad', 'node-line', 'edge'];
const KINDS = ['trigger', 'flow', 'data', 'action', 'code', 'human'];

/** `tokens` is the text of `style/tokens.css`; `title` is for those who can't see the picture. */
export function drawGraph(catalogue: Catalogue, doc: Doc, title: string, tokens: string): string {
  const level = { definition: null, prefix: '' };
  const scene = makeScene({
    catalogue,
    doc: { ...EMPTY_DOC, ...doc },
    level,
    problems: [],
    run: null,
    diff: null,
  });
  const [nodes, edges] = [[...scene.nodes.values()], [...scene.edges.values()]];
  const around = boundsOf([...nodes, ...edges]) ?? { x: 0, y: 0, width: 0, height: 0 };
  const { x, y, width, height } = grown(around, MARGIN, MARGIN);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${x} ${y} ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${styles(tokens)}</style>`,
    ...edges.map(drawnEdge),
    ...nodes.map(drawnNode),
    '</svg>',
    '',
  ].join('\n');
}

function drawnEdge({ ends, below, loop, error }: EdgeView): string {
  const kind = ['edge', loop ? 'loop' : '', error ? 'fault' : ''].filter(Boolean).join(' ');
  return `<path class="${kind}" d="${edgePath(ends, below).d}"/>`;
}

function drawnNode(view: NodeView): string {
  const { x, y, width, form, kind } = view;
  const isRound = form === 'start' || form === 'both';
  const [middle, text] = [PADDING + ICON / 2, x + PADDING + ICON + 10];
  const parts = [
    ...(view.composite ? [`<path class="behind" d="${card(view, 4)}"/>`] : []),
    `<path class="card" d="${card(view, 0)}"/>`,
    `<rect class="back" x="${x + PADDING}" y="${y + PADDING}" width="${ICON}" height="${ICON}" rx="${isRound ? ICON / 2 : 8}"/>`,
    `<path class="icon" transform="translate(${x + middle - 9} ${y + middle - 9}) scale(.75)" d="${pathOf(view.icon)}"/>`,
    `<text class="label" x="${text}" y="${y + (view.typeLine ? 26 : 34)}">${escaped(view.label)}</text>`,
    ...(view.typeLine
      ? [`<text class="type" x="${text}" y="${y + 42}">${escaped(view.typeLine)}</text>`]
      : []),
  ];
  const isBoth = [view.shape.inputs, view.shape.outputs].every((ports) => ports.some(({ named }) => named));
  for (const side of ['inputs', 'outputs'] as const)
    for (const port of view.shape[side]) {
      parts.push(`<circle class="port" cx="${x + port.x}" cy="${y + port.y}" r="4"/>`);
      if (!port.named) continue;
      const isIn = side === 'inputs';
      const style = port.name === 'error' && !isIn ? 'type fault' : 'type';
      parts.push(
        `<text class="${style}" x="${isIn ? x + 14 : x + width - 14}" y="${y + port.y + 4}"${isIn ? '' : ' text-anchor="end"'}>` +
          `${escaped(fitted(port.name, 11, isBoth ? 82 : 170))}</text>`,
      );
    }
  return `<g class="${kind}">${parts.join('')}</g>`;
}

/** The outline of a node's card, so much further right and down. */
function card({ x: left, y: top, width, height, form }: NodeView, offset: number): string {
  const [x, y] = [left + offset, top + offset];
  const round = Math.min(ROUND, height / 2);
  const a = form === 'start' || form === 'both' ? round : CORNER;
  const b = form === 'end' || form === 'both' ? round : CORNER;
  const arc = (r: number, dx: number, dy: number) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return (
    `M${x + a} ${y}H${x + width - b}${arc(b, b, b)}V${y + height - b}${arc(b, -b, b)}` +
    `H${x + a}${arc(a, -a, -a)}V${y + a}${arc(a, a, -a)}Z`
  );
}

/** What is not known by its own colour is drawn by its kind's. */
function styles(tokens: string): string {
  const names = [...NAMES, ...KINDS.map((kind) => `kind-${kind}`)];
  const colors = names.map((name) => {
    const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(tokens) ?? [];
    if (!light || !dark) throw new Error(`tokens.css has no colour --${name}.`);
    return { name, light, dark };
  });
  const set = (theme: 'light' | 'dark') => colors.map((color) => `--${color.name}:${color[theme]}`).join(';');
  return [
    `svg{${set('light')};font-family:Inter,system-ui,-apple-system,"Segoe UI",sans-serif}`,
    `@media(prefers-color-scheme:dark){svg{${set('dark')}}}`,
    '.edge{fill:none;stroke:var(--edge);stroke-width:1.6}.loop{stroke-dasharray:5 4}.edge.fault{stroke:var(--bad)}',
    '.card{fill:var(--raised);stroke:var(--node-line)}.behind{fill:var(--panel);stroke:var(--node-line)}',
    '.port{fill:var(--raised);stroke:var(--edge);stroke-width:1.6}',
    '.back{fill:currentColor;opacity:.12}',
    '.icon{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}',
    '.label{fill:var(--text);font-size:13px;font-weight:570}.type{fill:var(--dim);font-size:11px}.type.fault{fill:var(--bad)}',
    ...KINDS.map((kind) => `.${kind}{color:var(--kind-${kind})}`),
  ].join('\n');
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
