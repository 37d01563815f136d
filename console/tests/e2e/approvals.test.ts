import { call } from './api';
import { accessible, expect, test } from './fixtures';

const graphData = {
  nodes: [
    { id: 'start', type: 'OnManual', data: { parameters: {} } },
    {
      id: 'ask',
      type: 'WaitForCallback',
      data: { label: 'May Ann travel?', notes: 'Up to 500 are fine.', parameters: {} },
    },
    { id: 'end', type: 'Return', data: { parameters: { value: '{{ $input }}' } } },
  ],
  edges: [
    { source: 'start', target: 'ask' },
    { source: 'ask', target: 'end' },
  ],
};

test('what waits is listed, and approved by name', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/approvals`);
  await expect(page.getByText('Nothing waits for an answer')).toBeVisible();
  const name = 'Travel';
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', { name, graphData });
  const { data } = await call<{ data: { deploymentId: string } }>(
    page,
    'POST',
    `/api/patterns/${id}/deploy`,
    { nodeDefinitions: {} },
  );
  const at = `/api/deployments/${data.deploymentId}`;
  const started = await call<{ data: { runId: string } }>(page, 'POST', `${at}/execute`, {
    eventData: { cost: 480 },
  });

  const list = page.getByRole('list', { name: 'Waiting for an answer' });
  await expect(list.getByRole('heading', { name: 'May Ann travel?' })).toBeVisible();
  await expect(list.getByText('Up to 500 are fine.')).toBeVisible();
  await accessible(page);
  await list.getByRole('button', { name: 'Approve “May Ann travel?”' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('Enjoy');
  await accessible(page);
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Nothing waits for an answer')).toBeVisible();

  const whole = () =>
    call<{ data: { status: string; output: { body: unknown; by?: { email: string } } } }>(
      page,
      'GET',
      `${at}/runs/${started.data.runId}`,
    );
  await expect.poll(async () => (await whole()).data.status).toBe('success');
  const { output } = (await whole()).data;
  expect(output.body).toEqual({ approved: true, comment: 'Enjoy' });
  expect(output.by?.email).toBe(account.email);
});
