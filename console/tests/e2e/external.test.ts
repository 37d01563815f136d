import { accessible, expect, test } from './fixtures';
import { Provider } from './provider';
import { freePort, Server } from './server';

test('somebody signs in through the login provider, and comes to where they wanted to be', async ({
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
    const go = page.getByRole('button', { name: 'Continue with Example SSO' });
    await expect(page.getByLabel('Password')).toHaveCount(0);
    await accessible(page);

    await go.click();
    await page.getByRole('link', { name: 'Deny' }).click();
    await expect(page.getByRole('alert')).toContainText('did not allow the sign-in');
    await accessible(page);
    await page.getByRole('link', { name: 'Back to sign-in' }).click();

    await go.click();
    await page.getByRole('link', { name: 'Allow' }).click();
    await expect(page.getByText(/Good (morning|afternoon|evening), Grace/)).toBeVisible();
    expect(page.url()).not.toContain('code=');

    // A link with a code that somebody else got signs nobody in.
    const workspace = page.url();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.goto(`${own}/sign-in/return?code=theirs&state=theirs`);
    await expect(page.getByRole('alert')).toContainText('not started in this browser');
    await page.getByRole('link', { name: 'Back to sign-in' }).click();

    await page.goto(`${workspace}/connections`);
    await go.click();
    await page.getByRole('link', { name: 'Allow' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Connections' })).toBeVisible();
  } finally {
    await server.stop();
    provider.stop();
  }
});
