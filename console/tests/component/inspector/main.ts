import { mount } from 'svelte';
import '../../../src/style/tokens.css';
import '../../../src/style/base.css';
import Page from './Page.svelte';

const query = new URLSearchParams(location.search);
const theme = query.get('theme');
if (theme) document.documentElement.dataset['theme'] = theme;
mount(Page, {
  target: document.getElementById('app')!,
  props: { scene: query.get('scene') ?? 'HttpRequest' },
});
