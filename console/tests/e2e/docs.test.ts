import { accessible, expect, test } from './fixtures';

test('the reference of the API shows what it is about, and an operation that is opened', async ({
  page,
}, info) => {
  await page.goto('/docs');
  await expect(page.getByRole('heading', { level: 1, name: 'heddle API' })).toBeVisible();
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
  await page.screenshot({ path: info.outputPath('operation.png') });
  await accessible(page);
  // Nothing in any of the others is an object's name either.
  const texts = await page.evaluate(async () => {
    const found: string[] = [];
    for (const operation of document.querySelectorAll('details.operation:not([open])')) {
      const drawn = new Promise((resolve) => operation.addEventListener('toggle', resolve, { once: true }));
      operation.setAttribute('open', '');
      await drawn;
      found.push(operation.textContent);
      operation.removeAttribute('open');
    }
    return found;
  });
  expect(texts.length).toBeGreaterThan(100);
  for (const text of texts) expect(text).toContain('curl ');
  expect(texts.join()).not.toContain('[object ');
  // What axe would find now, it has found: all others are closed. Among so many elements, it would look for a minute.
  await page.goto('about:blank');
});
