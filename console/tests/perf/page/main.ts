/** The canvas by itself, for measurements and pictures: `?nodes=1000`, or the graph that a test gives. */
import { mount } from 'svelte';
import '../../../src/style/font.css';
import '../../../src/style/tokens.css';
import '../../../src/style/base.css';
import { makeCatalogue, type NodeType } from '../../../src/graph/catalogue';
import { DocumentStore } from '../../../src/graph/document';
import { readDocument } from '../../../src/graph/read';
import { Session } from '../../../src/graph/session';
import { largeGraph } from './graphs';
import Page from './Page.svelte';
import { page } from './state.svelte';

const query = new URLSearchParams(location.search);
const load = async (name: string): Promise<unknown> => (await fetch(name)).json();
const types = (await load('/catalogue.json')) as NodeType[];
const example = query.get('graph');
const given = example ? await load(example) : largeGraph(Number(query.get('nodes') ?? 20));
const definitions = query.get('definitions') ? await load(query.get('definitions') ?? '') : {};
const store = new DocumentStore(readDocument(given, definitions).doc);
const session = new Session(store, makeCatalogue(types));
document.documentElement.dataset['theme'] = query.get('theme') ?? 'light';
const target = document.getElementById('app');
page.outline = query.has('outline');
page.readOnly = query.has('readonly');

/** Resolves when it is on the screen. */
async function show(): Promise<void> {
  if (target) mount(Page, { target, props: { session } });
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  Object.assign(globalThis, { isShown: true });
}

Object.assign(globalThis, { session, page, show });
// A measurement says itself when it begins.
if (!query.has('wait')) await show();
