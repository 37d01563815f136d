import { mount } from 'svelte';
import '../../../src/style/tokens.css';
import '../../../src/style/base.css';
import Page from './Page.svelte';

const theme = new URLSearchParams(location.search).get('theme');
if (theme) document.documentElement.dataset['theme'] = theme;
mount(Page, { target: document.getElementById('app')! });
