import { call } from './api';
import { accessible, expect, test } from './fixtures';

test('a connection is made, tried, changed and found where it is used', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/connections`);
  await page.getByRole('button', { name: 'New connection' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New connection' });
  await dialog.getByLabel('Kind').selectOption({ label: 'PostgreSQL' });
  await dialog.getByLabel('Name').fill('Shop database');
  await dialog.getByLabel('Host', { exact: true }).fill('127.0.0.1');
  await dialog.getByLabel('Database').fill('shop');
  await dialog.getByLabel('User').fill('ann');
  await dialog.getByLabel('Password').fill('very-secret');
  await accessible(page);

  // As servers are by default, it may not connect to networks of its own: the answer says so before anything is stored.
  await dialog.getByRole('button', { name: 'Test connection' }).click();
  await expect(dialog.getByRole('alert')).toContainText('127.0.0.1');
  await dialog.getByRole('button', { name: 'Save connection' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Shop database' });
  await expect(row).toBeVisible();

  const nodes = [
    { id: 'go', type: 'OnManual', position: { x: 0, y: 0 }, data: {} },
    {
      id: 'ask',
      type: 'SqlQuery',
      position: { x: 240, y: 0 },
      data: { label: 'Open orders', parameters: { connection: 'Shop database', query: 'select 1' } },
    },
  ];
  const graphData = { nodes, edges: [{ id: 'e', source: 'go', target: 'ask' }] };
  await call(page, 'POST', '/api/patterns/import', { name: 'Reminders', graphData });
  await row.getByRole('button', { name: 'Actions for Shop database' }).click();
  await page.getByRole('menuitem', { name: 'Where it is used' }).click();
  const uses = page.getByRole('dialog', { name: 'Where “Shop database” is used' });
  await expect(uses.getByRole('link', { name: 'Reminders' })).toBeVisible();
  await expect(uses.getByText('Open orders, SqlQuery')).toBeVisible();
  await accessible(page);
  await page.keyboard.press('Escape');

  // What is stored is not shown, and what is left empty stays.
  await row.getByRole('button', { name: 'Actions for Shop database' }).click();
  await page.getByRole('menuitem', { name: 'Change or test…' }).click();
  const change = page.getByRole('dialog', { name: 'Change the connection' });
  await expect(change.getByLabel('Password')).toHaveAttribute('placeholder', 'Stored');
  await expect(change.getByLabel('Password')).toHaveValue('');
  await accessible(page);
  await change.getByLabel('Name').fill('Shop database EU');
  await change.getByLabel('Host', { exact: true }).fill('db.example.com');
  await change.getByLabel('Allowed hosts').fill('db.example.com');
  await change.getByRole('button', { name: 'Save changes' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Shop database EU' })).toBeVisible();
  expect(await page.content()).not.toContain('very-secret');
  const { connections } = await call<{ connections: { id: string }[] }>(page, 'GET', '/api/connections');
  const [{ id } = { id: '' }] = connections;
  const stored = await call<{ fields: string[] }>(page, 'GET', `/api/connections/${id}/fields`);
  expect(stored.fields.sort()).toEqual(['database', 'host', 'password', 'tls', 'user']);
  const detail = await call<{ hosts: string[] }>(page, 'GET', `/api/connections/${id}`);
  expect(detail.hosts).toEqual(['db.example.com']);
});
