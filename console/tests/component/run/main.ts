import { mount } from 'svelte';
import '../../../src/style/tokens.css';
import '../../../src/style/base.css';
import Page from './Page.svelte';

const query = new URLSearchParams(location.search);
const theme = query.get('theme');
if (theme) document.documentElement.dataset['theme'] = theme;

/** Resolves when it is on the screen. */
async function show(): Promise<void> {
  mount(Page, { target: document.getElementById('app')!, props: { scene: query.get('scene') ?? 'trace' } });
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

Object.assign(globalThis, { show });
// A measurement says itself when it begins.
if (!query.has('wait')) void show();
