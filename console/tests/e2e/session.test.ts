import { accessible, expect, test } from './fixtures';

test('a stranger registers, signs out, is asked to sign in, and comes back to where they were', async ({
  page,
}) => {
  const email = `ada-${crypto.randomUUID()}@example.com`;
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();
  await accessible(page);

  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Byron');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill('short');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page.getByRole('alert')).toContainText('8 characters');
  await accessible(page);
  await page.getByLabel('Password').fill('correct-horse');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page.getByText(/Good (morning|afternoon|evening), Ada/)).toBeVisible();

  await page.goto(`${new URL(page.url()).pathname}/connections`);
  const there = page.url();
  await page.getByRole('button', { name: /^Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();

  await page.goto(there);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill('wrong-password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toBeVisible();
  await page.getByLabel('Password').fill('correct-horse');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(there);
  await expect(page.getByRole('heading', { level: 1, name: 'Connections' })).toBeVisible();
});

test('the page never gets hold of the session', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  const seen = await page.evaluate(
    () => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage),
  );
  expect(seen).not.toMatch(/eyJ|heddle=/);
});
