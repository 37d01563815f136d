import { mount } from 'svelte';
import './style/font.css';
import './style/tokens.css';
import './style/base.css';
import App from './screens/App.svelte';

const root = document.getElementById('app');
if (root) mount(App, { target: root });
