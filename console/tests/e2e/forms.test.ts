import { call } from './api';
import { accessible, expect, test } from './fixtures';

const parameters = {
  title: 'Order a visit',
  description: 'We come to you within a week.',
  fields: [
    { name: 'name', label: 'Your name', required: true, help: 'As it stands on your door.' },
    { name: 'email', type: 'email', label: 'Your email address', required: true },
    { name: 'guests', type: 'number', label: 'How many are you?', integer: true, min: 1, max: 8 },
    { name: 'code', label: 'Your code', pattern: '[A-Z]{3}', patternMessage: 'Enter three capital letters.' },
    { name: 'day', type: 'radio', label: 'Which day?', options: ['Monday', 'Friday'], required: true },
    { name: 'extras', type: 'checkboxes', label: 'What else?', options: ['Tour', 'Lunch'] },
    { name: 'country', type: 'select', label: 'Country', options: ['Austria', 'Belgium'] },
    { name: 'plan', type: 'file', label: 'A plan of the house', accept: ['.txt'] },
    { name: 'note', type: 'textarea', label: 'Anything else?', placeholder: 'We have a dog.' },
    { name: 'terms', type: 'checkbox', label: 'I agree to the terms', required: true },
  ],
  button: 'Order',
  thanks: 'We write to you today.',
};
const graphData = {
  nodes: [
    { id: 'ask', type: 'OnForm', data: { label: 'Visit', parameters } },
    { id: 'end', type: 'Return', data: { parameters: { value: '{{ $input.body }}' } } },
  ],
  edges: [{ source: 'ask', target: 'end' }],
};

test('a form is filled in by keyboard, corrected and sent', async ({ page, account }) => {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Visits',
    graphData,
  });
  const { data } = await call<{ data: { deploymentId: string } }>(
    page,
    'POST',
    `/api/patterns/${id}/deploy`,
    {
      nodeDefinitions: {},
    },
  );
  const hooks = await call<{ data: { endpoints: { webhookUrl: string }[] } }>(
    page,
    'GET',
    `/api/patterns/${id}/webhooks`,
  );
  const address = hooks.data.endpoints[0]?.webhookUrl ?? '';

  await page.goto(`/w/${account.workspace}/deployments/${data.deploymentId}`);
  await expect(page.getByText(address)).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Form: Visit' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Open the form' })).toHaveAttribute('href', address);
  await page.getByRole('button', { name: 'How to send a request' }).click();
  const snippet = page.getByRole('textbox', { name: 'How to send a request' });
  await expect(snippet).toContainText(`--form-string 'email=ann@example.com'`);
  await expect(snippet).toContainText('-F "plan=@$file;filename=example.txt');

  await page.goto(address);
  await expect(page.getByRole('heading', { name: 'Order a visit' })).toBeVisible();
  await accessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await accessible(page);
  const type = async (text: string) => {
    await page.keyboard.press('Tab');
    await page.keyboard.type(text);
  };
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await type('Ann');
  await type('ann@example.com');
  await type('3');
  await type('abc');
  await press('Tab', 'Space', 'ArrowDown');
  await press('Tab', 'Tab', 'Space');
  await type('Bel');
  await press('Tab');
  await type('Ring <twice>');
  await press('Tab', 'Space', 'Tab', 'Enter');

  await expect(page).toHaveTitle('Error: Order a visit');
  await expect(page.getByRole('alert')).toBeFocused();
  await accessible(page);
  await page.emulateMedia({ colorScheme: 'light' });
  await accessible(page);
  const code = page.getByRole('textbox', { name: 'Your code' });
  await expect(code).toHaveAccessibleDescription('Error: Enter three capital letters.');
  await expect(page.getByRole('textbox', { name: 'Anything else?' })).toHaveValue('Ring <twice>');
  await expect(page.getByRole('radio', { name: 'Friday' })).toBeChecked();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(code).toBeFocused();
  await code.press('ControlOrMeta+a');
  await page.keyboard.type('ABC');
  await page.getByLabel('A plan of the house').setInputFiles({
    name: 'plan.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('two rooms'),
  });
  await page.getByRole('button', { name: 'Order' }).press('Enter');
  await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible();
  await expect(page.getByText('We write to you today.')).toBeVisible();
  await accessible(page);
  // Sent once more, as the browser offers it.
  await page.reload();
  await expect(page.getByText('You have already sent this')).toBeVisible();

  await page.goto(`/w/${account.workspace}/patterns`);
  const at = `/api/deployments/${data.deploymentId}/runs`;
  const runs = await call<{ data: { id: string }[] }>(page, 'GET', at);
  expect(runs.data).toHaveLength(1);
  const whole = () =>
    call<{ data: { status: string; output: Record<string, unknown> } }>(
      page,
      'GET',
      `${at}/${runs.data[0]?.id}`,
    );
  await expect.poll(async () => (await whole()).data.status).toBe('success');
  expect((await whole()).data.output).toMatchObject({
    name: 'Ann',
    email: 'ann@example.com',
    guests: 3,
    code: 'ABC',
    day: 'Friday',
    extras: ['Lunch'],
    country: 'Belgium',
    plan: { name: 'plan.txt', size: 9 },
    note: 'Ring <twice>',
    terms: true,
  });
});
