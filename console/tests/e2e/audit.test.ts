import { accessible, expect, test } from './fixtures';

test('an owner reads who changed what, filters it, and takes it along', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/settings`);
  await page.getByLabel('Name').fill('Weaving mill');
  await page.getByRole('button', { name: 'Rename' }).click();
  // Leaving the page at once would take the request with it.
  await expect(page.getByText('Renamed the workspace.')).toBeVisible();
  await page.goto(`/w/${account.workspace}/keys`);
  await page.getByRole('button', { name: 'New key' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('of CI');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByRole('dialog').getByText(/^hdl_/)).toBeVisible();

  await page.goto(`/w/${account.workspace}/settings`);
  await page.getByRole('main').locator('a[href$="/audit"]').click();
  const log = page.getByRole('table', { name: 'Audit log' });
  await expect(log).toContainText('Ann Lee created the API key of CI');
  await expect(log).toContainText('to Weaving mill');
  await accessible(page);

  await page.getByLabel('Kind of action').selectOption({ label: 'API keys' });
  await expect(log).not.toContainText('Weaving mill');
  await expect(log).toContainText('of CI');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export' }).click();
  const file = await (await download).createReadStream();
  let text = '';
  for await (const chunk of file) text += String(chunk);
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { action: string });
  expect(lines.map((line) => line.action)).toEqual(['api_key.created']);

  await page.getByLabel('Object').fill('nothing of this name');
  await expect(page.getByText('No entry matches')).toBeVisible();
  await page.getByRole('button', { name: 'Show all entries' }).click();
  await expect(log).toContainText('Weaving mill');
});

test('a profile has a name, what happened to the account, and an end of all sessions', async ({
  page,
  account,
}) => {
  await page.goto(`/w/${account.workspace}/profile`);
  await page.getByLabel('First name').fill('Anna');
  await page.getByRole('button', { name: 'Change name' }).click();
  await expect(page.getByText('Changed your name.')).toBeVisible();
  await expect(page.getByRole('button', { name: /Account: .*Anna Lee/ })).toBeVisible();
  await page.reload();
  await expect(page.getByText('You changed the profile')).toBeVisible();
  await expect(page.getByText('You registered')).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'Sign out everywhere…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();
});
