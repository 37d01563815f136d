import { call } from './api';
import { accessible, expect, test } from './fixtures';

const piece = (id: string, data: string) => ({
  id,
  type: 'StreamResponse',
  data: { parameters: { data } },
});
const graphData = {
  nodes: [
    {
      id: 'chat',
      type: 'OnChat',
      data: { parameters: { title: 'Opening hours', greeting: 'Which day do you want to come?' } },
    },
    piece('first', '<b>You</b> said: {{ $trigger.body.message }}, '),
    { id: 'wait', type: 'Wait', data: { parameters: { durationMs: 1500 } } },
    piece('second', 'and that is fine.'),
  ],
  edges: [
    { source: 'chat', target: 'first' },
    { source: 'first', target: 'wait' },
    { source: 'wait', target: 'second' },
  ],
};

test('a conversation by keyboard, with script and without', async ({ page, account, browser }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Hours',
    graphData,
  });
  await call(page, 'POST', `/api/patterns/${id}/deploy`, { nodeDefinitions: {} });
  const hooks = await call<{ data: { endpoints: { webhookUrl: string }[] } }>(
    page,
    'GET',
    `/api/patterns/${id}/webhooks`,
  );
  const address = hooks.data.endpoints[0]?.webhookUrl ?? '';

  await page.goto(address);
  await expect(page.getByRole('heading', { name: 'Opening hours' })).toBeVisible();
  const field = page.getByRole('textbox', { name: 'Your message' });
  await expect(field).toBeFocused();
  await accessible(page);
  await page.keyboard.type('Friday <3');
  await page.keyboard.press('Enter');
  const log = page.getByRole('log', { name: 'Conversation' });
  // The first piece is read before the second one is there.
  await expect(log).toContainText('<b>You</b> said: Friday <3, ');
  await expect(log).not.toContainText('and that is fine.');
  await expect(page.getByRole('status')).toHaveText('Opening hours is answering…');
  await expect(log).toContainText('said: Friday <3, and that is fine.');
  await expect(page.getByRole('status')).toBeEmpty();
  await expect(field).toBeFocused();
  await page.emulateMedia({ colorScheme: 'dark' });
  await accessible(page);

  const plain = await browser.newContext({ javaScriptEnabled: false });
  const bare = await plain.newPage();
  await bare.goto(address);
  await bare.getByRole('textbox', { name: 'Your message' }).fill('Monday');
  await bare.getByRole('button', { name: 'Send' }).click();
  await expect(bare.getByRole('log')).toContainText('said: Monday, and that is fine.');
  await bare.getByRole('textbox', { name: 'Your message' }).fill('Tuesday');
  await bare.getByRole('button', { name: 'Send' }).click();
  await expect(bare.getByRole('log')).toContainText('said: Monday, and that is fine.');
  await expect(bare.getByRole('log')).toContainText('said: Tuesday, and that is fine.');
  await plain.close();
});
