import type { Page } from '@playwright/test';
import { call } from './api';
import { accessible, expect, test } from './fixtures';

interface Drawing {
  nodes: { id: string; type: string; position: object; data: { label: string; parameters: object } }[];
  edges: { id: string; source: string; target: string }[];
}

/** Three nodes in a row, of which the middle one reads a value. */
function drawing(value: string, label = 'Read', last = 'End'): Drawing {
  const node = (id: string, type: string, x: number, name: string, parameters: object = {}) => ({
    id,
    type,
    position: { x, y: 0 },
    data: { label: name, parameters },
  });
  return {
    nodes: [
      node('start', 'OnManual', 0, 'Start'),
      node('read', 'Transform', 280, label, { value }),
      node('end', 'Return', 560, last),
    ],
    edges: [
      { id: 'one', source: 'start', target: 'read' },
      { id: 'two', source: 'read', target: 'end' },
    ],
  };
}

async function importFirst(page: Page): Promise<string> {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Twice',
    graphData: drawing('{{ 1 }}'),
  });
  return id;
}
const keepDraft = (page: Page, id: string, graphData: Drawing) =>
  call(page, 'PUT', `/api/patterns/${id}/draft`, { baseVersion: 1, graphData, nodeDefinitions: {} });
/** Somebody else saves the second version. */
const saveSecond = (page: Page, id: string, graphData: Drawing) =>
  call(page, 'PUT', `/api/patterns/${id}`, { graphData, versionNumber: 1 });

const savedIn = (page: Page, pattern: string) =>
  call<{ graphData: Drawing }>(page, 'GET', `/api/patterns/${pattern}`).then(({ graphData }) => graphData);

test('what others have changed too is decided on the canvas by keyboard, and then saved', async ({
  page,
  account,
}) => {
  const id = await importFirst(page);
  await keepDraft(page, id, drawing('{{ "mine" }}', 'Read', 'Mine'));
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await saveSecond(page, id, drawing('{{ "theirs" }}', 'Read', 'Theirs'));
  await page.getByRole('application').focus();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Not saved yet: version 2 differs in 2 places.')).toBeVisible();
  await expect(page.locator('.card .badge', { hasText: 'Conflict' })).toHaveCount(2);
  const card = page.getByRole('region', { name: 'Conflict' });
  await expect(card.getByRole('heading', { name: 'value of “Read”' })).toBeVisible();
  await expect(card.getByRole('button', { name: 'Take mine' })).toBeFocused();
  await accessible(page);
  // The value, then its button.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(page.locator('.card .badge', { hasText: 'Decided' })).toHaveCount(1);
  await page.keyboard.press('F8');
  await expect(card.getByRole('heading', { name: 'label of “Mine”' })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(card.getByRole('button', { name: 'Take mine' })).toHaveAttribute('aria-pressed', 'true');
  await page.keyboard.press('Escape');
  await expect(card).toBeHidden();
  await expect(page.getByRole('application')).toBeFocused();

  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 3')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Conflicts/ })).toBeHidden();
  const { nodes } = await savedIn(page, id);
  expect(nodes[1]?.data.parameters).toEqual({ value: '{{ "theirs" }}' });
  expect(nodes[2]?.data.label).toBe('Mine');
});

test('a draft of an older version shows its conflicts, and undoing takes the join back as a whole', async ({
  page,
  account,
}) => {
  const theirs = drawing('{{ 1 }}');
  theirs.nodes = theirs.nodes.filter(({ id }) => id !== 'read');
  theirs.edges = [{ id: 'three', source: 'start', target: 'end' }];
  const id = await importFirst(page);
  await saveSecond(page, id, theirs);
  await keepDraft(page, id, drawing('{{ "mine" }}'));
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await expect(page.getByText('In 1 place they differ.')).toBeVisible();
  await page.getByRole('button', { name: /^Conflicts/ }).click();
  const list = page.getByRole('region', { name: 'Conflicts' });
  await expect(list.getByText('Version 2 was saved in the meantime, and differs in 1 place')).toBeVisible();
  await accessible(page);
  await expect(page.locator('.card')).toHaveCount(3);
  await list.getByRole('button', { name: 'Take theirs' }).click();
  await expect(page.locator('.card')).toHaveCount(2);
  await expect(list.getByText('Everything is decided')).toBeVisible();
  await list.getByRole('button', { name: 'Take mine' }).click();
  await expect(page.locator('.card')).toHaveCount(3);

  await page.getByRole('application').focus();
  await page.keyboard.press('Control+z');
  await expect(page.getByRole('button', { name: /^Conflicts/ })).toBeHidden();
  await expect(page.getByText('saved version 2; this is 1')).toBeVisible();
  await page.keyboard.press('Control+Shift+z');
  await expect(page.getByRole('button', { name: /^Conflicts/ })).toBeVisible();
  await page.getByRole('application').focus();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 3')).toBeVisible();
  const saved = await savedIn(page, id);
  expect(saved.nodes.map((node) => node.id).sort()).toEqual(['end', 'read', 'start']);
});
