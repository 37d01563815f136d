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
  await expect(list.getByText('{"cost":480}')).toBeVisible();
  await accessible(page);
  // The run itself leads there as well.
  await list.getByRole('link', { name }).click();
  await page.getByRole('link', { name: 'Answer' }).click();
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

test('a form of the pattern decides, without scripts', async ({ page, account, browser }) => {
  const html =
    '<h1>Order {{ $input.n }}?</h1><p id="s">quiet</p><script>s.textContent = "loud"</script>' +
    '<form method="post"><input name="comment" aria-label="Comment">' +
    '<button name="decision" value="yes">Approve</button></form>';
  const nodes = graphData.nodes.map((node) =>
    node.type === 'WaitForCallback'
      ? { ...node, data: { parameters: { page: html, respondPage: '<h1>It goes out</h1>' } } }
      : node,
  );
  const link = { id: 'link', type: 'Log', data: { parameters: { message: '{{ $run.callbackUrl }}' } } };
  const edges = [
    { source: 'start', target: 'link' },
    { source: 'link', target: 'ask' },
    { source: 'ask', target: 'end' },
  ];
  await page.goto(`/w/${account.workspace}/approvals`);
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Order',
    graphData: { nodes: [...nodes, link], edges },
  });
  const { data } = await call<{ data: { deploymentId: string } }>(
    page,
    'POST',
    `/api/patterns/${id}/deploy`,
    { nodeDefinitions: {} },
  );
  const at = `/api/deployments/${data.deploymentId}`;
  const started = await call<{ data: { runId: string } }>(page, 'POST', `${at}/execute`, {
    eventData: { n: 7 },
  });
  type Run = {
    data: { status: string; phase?: string; output: { body: unknown }; logOutput: { message: string }[] };
  };
  const run = () => call<Run>(page, 'GET', `${at}/runs/${started.data.runId}`);
  await expect.poll(async () => (await run()).data.phase).toBe('waiting');
  const { pathname } = new URL((await run()).data.logOutput[0]?.message ?? '');

  // Somebody without an account; what the browser says of the script is not looked at.
  const stranger = await browser.newContext();
  const form = await stranger.newPage();
  await form.goto(new URL(pathname, page.url()).href);
  await expect(form.getByRole('heading', { name: 'Order 7?' })).toBeVisible();
  await expect(form.getByText('quiet')).toBeVisible();
  await form.getByRole('textbox', { name: 'Comment' }).fill('Soon, please');
  await form.getByRole('button', { name: 'Approve' }).click();
  await expect(form.getByRole('heading', { name: 'It goes out' })).toBeVisible();
  await expect.poll(async () => (await run()).data.status).toBe('success');
  expect((await run()).data.output.body).toEqual({ comment: 'Soon, please', decision: 'yes' });
  await stranger.close();
});
