import { accessible, expect, test } from './fixtures';
import { Server } from './server';

test('a demo is opened by one click, and its patterns are at work', async ({ page }) => {
  const demo = await Server.start(['--listen', '127.0.0.1:0', '--demo']);
  try {
    await page.goto(demo.url);
    await expect(page.getByText('as demo@heddle.example')).toBeVisible();
    await accessible(page);
    await page.getByRole('button', { name: 'Open the demo' }).click();
    await expect(page.getByText(/Good (morning|afternoon|evening), Demo/)).toBeVisible();
    await page.getByRole('link', { name: 'Deployments', exact: true }).click();
    await expect(page.getByRole('row').filter({ hasText: 'Order routing (demo)' })).toContainText('Active');
    await page.goto('about:blank');
  } finally {
    await demo.stop();
  }
});
