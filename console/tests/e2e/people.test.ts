import { createHmac } from 'node:crypto';
import type { Page } from '@playwright/test';
import { accessible, expect, test } from './fixtures';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** What an authenticator with this secret shows (RFC 6238). */
function code(secret: string, at: number): string {
  const bits = [...secret].map((c) => ALPHABET.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const tag = createHmac('sha1', key).update(counter).digest();
  const offset = (tag.at(-1) ?? 0) & 0xf;
  return String((tag.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();
}

test('a link lets a stranger make an account and join, once', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/members`);
  await page.getByRole('button', { name: 'Make a link' }).click();
  await page.getByRole('dialog').getByLabel('Role').selectOption('viewer');
  await accessible(page);
  await page.getByRole('button', { name: 'Make the link' }).click();
  const shown = page.getByRole('dialog').getByText(/\/join#/);
  await expect(shown).toBeVisible();
  const link = new URL((await shown.textContent()) ?? '');
  await accessible(page);
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('For one person')).toBeVisible();
  await signOut(page);

  await page.goto(link.pathname + link.hash);
  await expect(page.getByRole('heading', { name: /^Join “/ })).toBeVisible();
  expect(new URL(page.url()).hash).toBe('');
  await accessible(page);
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('First name').fill('Bob');
  await page.getByLabel('Last name').fill('Ray');
  await page.getByLabel('Email').fill(`bob-${crypto.randomUUID()}@example.com`);
  await page.getByLabel('Password').fill('correct-horse');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page).toHaveURL(new RegExp(`/w/${account.workspace}$`));

  await page.goto(link.pathname + link.hash);
  await expect(page.getByRole('alert')).toContainText('was used or withdrawn');
});

test('an authenticator is set up, and asked for after the password', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/profile`);
  await page.getByRole('button', { name: 'Set up an authenticator…' }).click();
  await page.getByRole('dialog').getByLabel('Current password').fill(account.password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('img', { name: 'QR code for your authenticator' })).toBeVisible();
  await accessible(page);
  const secret = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
  const now = Date.now();
  await page.getByRole('dialog').getByLabel('Code').fill(code(secret, now));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await expect(page.getByRole('heading', { name: 'Keep your recovery codes' })).toBeVisible();
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('10 recovery codes left')).toBeVisible();
  await signOut(page);

  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password').fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // The code of the next step counts as well, so that nobody has to wait for it.
  await page.getByLabel('Code').fill(code(secret, now + 30_000));
  await accessible(page);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: /^Account/ })).toBeVisible();
});

test('an account is removed by its user', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/profile`);
  await page.getByRole('button', { name: 'Remove my account…' }).click();
  await page.getByRole('dialog').getByLabel('Current password').fill('wrong-horse');
  await page.getByRole('button', { name: 'Remove account' }).click();
  await expect(page.getByRole('alert')).toContainText('password is wrong');
  await accessible(page);
  await page.getByRole('dialog').getByLabel('Current password').fill(account.password);
  await page.getByRole('button', { name: 'Remove account' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();
});
