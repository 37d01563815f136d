import { readFileSync } from 'node:fs';
import { accessible, expect, test } from './fixtures';

test('a file is uploaded, downloaded and deleted', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/settings`);
  await page.getByRole('link', { name: 'Show files' }).click();
  await expect(page.getByText('No files yet')).toBeVisible();
  await page.locator('input[type=file]').setInputFiles({
    name: 'prices of March.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('sku,price\nDESK-140,12\n'),
  });
  const file = page.getByRole('link', { name: 'prices of March.csv' });
  await expect(file).toBeVisible();
  await expect(page.getByText('22 bytes')).toBeVisible();
  await accessible(page);

  const download = page.waitForEvent('download');
  await file.click();
  expect(readFileSync(await (await download).path(), 'utf8')).toBe('sku,price\nDESK-140,12\n');

  await page.getByRole('button', { name: 'Actions for prices of March.csv' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete file' }).click();
  await expect(page.getByText('No files yet')).toBeVisible();
});
