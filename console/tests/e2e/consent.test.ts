import { accessible, expect, test } from './fixtures';
import { Provider } from './provider';
import { freePort, Server } from './server';

test('a connection is consented to at its provider, denied and allowed, and disconnected', async ({
  page,
}) => {
  const provider = await Provider.start();
  const port = await freePort();
  const own = `http://127.0.0.1:${port}`;
  const server = await Server.start(
    [
      ...['--listen', `127.0.0.1:${port}`, '--base-url', own, '--local-auth', 'false'],
      ...['--ext-client-id', 'heddle', '--ext-issuer', provider.issuer],
      ...['--ext-redirect-uri', `${own}/sign-in/return`, '--ext-name', 'Example SSO'],
      ...['--egress-allow', provider.address],
    ],
    { HEDDLE_EXT_CLIENT_SECRET: 'a secret' },
  );
  try {
    await page.goto(`${own}/sign-in`);
    await page.getByRole('button', { name: 'Continue with Example SSO' }).click();
    await page.getByRole('link', { name: 'Allow' }).click();
    await expect(page.getByText(/Good (morning|afternoon|evening), Grace/)).toBeVisible();

    await page.goto(`${page.url()}/connections`);
    await page.getByRole('button', { name: 'New connection' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New connection' });
    // Known services ask for a client and nothing else.
    await dialog.getByLabel('Kind').selectOption({ label: 'Google' });
    await expect(dialog.getByLabel('Redirect URI')).toHaveValue(`${own}/connections/return`);
    await expect(dialog.getByLabel('Authorization URL')).toHaveCount(0);
    await accessible(page);
    await dialog.getByLabel('Kind').selectOption({ label: 'HTTP: OAuth 2.0 with consent' });
    await dialog.getByLabel('Name').fill('Example');
    await dialog.getByLabel('Service').fill('example');
    await dialog.getByLabel('Client id', { exact: true }).fill('heddle');
    await dialog.getByLabel('Client secret').fill('very-secret');
    await dialog.getByLabel('Issuer').fill(provider.issuer);
    await dialog.getByLabel('Allowed hosts').fill('127.0.0.1');
    await dialog.getByRole('button', { name: 'Save and connect…' }).click();

    await page.getByRole('link', { name: 'Deny' }).click();
    await expect(page.getByRole('alert')).toContainText('Access was denied');
    await accessible(page);
    await page.getByRole('link', { name: 'Back' }).click();
    const stored = page.getByRole('dialog', { name: 'Change the connection' });
    await expect(stored.getByText('Not connected yet')).toBeVisible();
    await accessible(page);

    await stored.getByRole('button', { name: 'Connect…' }).click();
    await page.getByRole('link', { name: 'Allow' }).click();
    await expect(stored.getByRole('region', { name: 'Consent' })).toContainText('Connected.');
    expect(page.url()).not.toContain('code=');
    await accessible(page);

    await stored.getByRole('button', { name: 'Disconnect' }).click();
    await expect(stored.getByText('Not connected yet')).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByText('Consent needed')).toBeVisible();

    // A link with somebody else's code connects nothing.
    await page.goto(`${own}/connections/return?code=theirs&state=theirs`);
    await expect(page.getByRole('alert')).toContainText('not begun in this tab');
  } finally {
    await server.stop();
    provider.stop();
  }
});
