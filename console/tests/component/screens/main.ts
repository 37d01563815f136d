import { mount } from 'svelte';
import '../../../src/style/tokens.css';
import '../../../src/style/base.css';
import { type Answer, answerWith, GONE } from './answers';

const query = new URLSearchParams(location.search);

/** Requests that the page has made, and what answers them, for tests to look at and to change. */
const asked: string[] = [];
const answers: Record<string, Answer> = {};
if (query.has('gone'))
  for (const part of ['secrets', 'variables', 'rules'])
    answers[`GET /api/workspaces/w1/environments/e1/${part}`] = GONE;
Object.assign(globalThis, { asked, answers });
globalThis.fetch = async (request) => answerWith(request as Request, asked, answers);

/** Screens read the address as they are loaded. */
async function show(): Promise<void> {
  history.replaceState(null, '', `/w/w1/${query.get('at') ?? ''}`);
  const { default: Page } = await import('./Page.svelte');
  mount(Page, {
    target: document.getElementById('app')!,
    props: { screen: query.get('screen') ?? '', role: query.get('role') ?? 'owner' },
  });
}
void show();
