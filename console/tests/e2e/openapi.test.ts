import { call } from './api';
import { accessible, expect, test } from './fixtures';

const operation = (operationId: string, summary: string) => ({
  operationId,
  summary,
  responses: { 200: { description: 'Done', content: { 'application/json': {} } } },
});
const PETS = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example.com' }],
  paths: {
    '/pets': { get: operation('listPets', 'Lists pets'), post: operation('addPet', 'Adds a pet') },
  },
};

test('operations of an OpenAPI document become node types of a new pattern', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  await page.locator('input[type=file]').setInputFiles({
    name: 'pets.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(PETS)),
  });
  const dialog = page.getByRole('dialog', { name: 'Import “Pets”' });
  await expect(dialog.getByRole('button', { name: 'Import 2 node types' })).toBeEnabled();
  await dialog.getByLabel('addPet').uncheck();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Import one node type' }).click();

  await page.waitForURL(/\/patterns\/[0-9a-f-]{36}$/);
  const id = new URL(page.url()).pathname.split('/').at(-1);
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeVisible();
  const pattern = await call<{ nodeDefinitions: object }>(page, 'GET', `/api/patterns/${id}`);
  expect(Object.keys(pattern.nodeDefinitions)).toEqual(['listPets']);
});
