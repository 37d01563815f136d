import { expect, test } from './fixtures';

test('the reference of the API shows what it is about, and an operation that is opened', async ({
  page,
}, info) => {
  await page.goto('/docs');
  await expect(page.getByRole('heading', { level: 1, name: 'heddle API' })).toBeVisible({
    // Two hundred operations are drawn at once.
    timeout: 90_000,
  });
  const about = page.locator('#about');
  await expect(about.getByText('Stores, deploys and runs patterns')).toBeVisible();
  await expect(about.locator('code', { hasText: 'POST /api/auth/login' })).toBeVisible();
  // What was no text once, as people would see it.
  expect(await page.locator('body').innerText()).not.toMatch(/\[object |undefined|NaN/);
  await page.screenshot({ path: info.outputPath('docs.png') });

  await page.getByRole('searchbox', { name: 'Filter operations' }).fill('promote');
  const links = page.getByRole('navigation', { name: 'Operations' }).getByRole('link');
  await links.filter({ hasText: '/deployments/{id}/promote' }).click();
  const promote = page.locator('#promote_deployment');
  await expect(promote).toHaveAttribute('open', '');
  for (const text of ['Needs a token.', 'environmentId', 'ENVIRONMENT_INCOMPLETE', 'curl -X POST'])
    await expect(promote.getByText(text).first()).toBeVisible();
  // Everything that can be opened is drawn: nothing of it is an object's name either.
  await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
  expect(await page.locator('body').innerText()).not.toContain('[object ');
  await page.screenshot({ path: info.outputPath('operation.png') });
  // All of it opened at once is nothing that anybody sees, and too much for axe.
  await page.goto('about:blank');
});
