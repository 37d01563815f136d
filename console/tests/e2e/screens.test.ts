import type { Page } from '@playwright/test';
import { call, deployOrders, ORDER, send } from './api';
import type { RouteName } from '../../src/router';
import { COLOURS } from '../colours';
import { accessible, DESKTOP, ENLARGED, expect, PHONE, resize, test } from './fixtures';

/** What a workspace has once something has happened in it. */
interface Filled {
  workspace: string;
  pattern: string;
  deployment: string;
  runs: string[];
  environment: string;
}

/**
 * The addresses at which each screen is looked at. A screen without one does not compile here; those that people see before
 * they are signed in are by themselves.
 */
const SCREENS: Record<Exclude<RouteName, keyof typeof OUTSIDE | 'root'>, (of: Filled) => string[]> = {
  home: () => [''],
  patterns: () => ['patterns'],
  editor: ({ pattern }) => [`patterns/${pattern}`],
  versions: ({ pattern }) => [`patterns/${pattern}/versions`],
  tests: ({ pattern }) => [`patterns/${pattern}/tests`],
  deployments: () => ['deployments'],
  deployment: ({ deployment }) =>
    ['', '?tab=runs', '?tab=events', '?tab=log'].map((tab) => `deployments/${deployment}${tab}`),
  run: ({ deployment, runs }) => runs.map((run) => `deployments/${deployment}/runs/${run}`),
  runs: () => ['runs'],
  approvals: () => ['approvals'],
  connections: () => ['connections'],
  environments: () => ['environments'],
  environment: ({ environment }) => [`environments/${environment}`],
  members: () => ['members'],
  keys: () => ['keys'],
  settings: () => ['settings'],
  kept: () => ['kept-values'],
  files: () => ['files'],
  audit: () => ['audit'],
  usage: () => ['usage'],
  profile: () => ['profile'],
};
/** What people see who are not signed in, or have followed a link. */
const OUTSIDE = {
  signIn: '/sign-in',
  signInReturn: '/sign-in/return',
  connectionReturn: '/connections/return',
  register: '/register',
  join: '/join#unknown',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password#unknown',
  verifyEmail: '/verify-email#unknown',
} as const satisfies Partial<Record<RouteName, string>>;
/** Screens that are of use before there is anything. */
const EMPTY = [
  '',
  'patterns',
  'runs',
  'deployments',
  'approvals',
  'connections',
  'environments',
  'members',
  'keys',
  'settings',
  'audit',
  'usage',
  'files',
  'profile',
];

/** A pattern that is deployed, a run that succeeded and one that failed, all with a long name. */
async function filled(page: Page, workspace: string): Promise<Filled> {
  const orders = await deployOrders(page, 'Orders of all countries, and what becomes of them', true);
  await send(orders, ORDER);
  await send(orders, { order: null });
  const runs = await call<{ data: { id: string }[] }>(page, 'GET', '/api/runs');
  const path = `/api/workspaces/${workspace}/environments`;
  const environments = await call<{ data: { id: string }[] }>(page, 'GET', path);
  const { pattern, deployment } = orders;
  const environment = environments.data[0]?.id ?? '';
  return { workspace, pattern, deployment, runs: runs.data.map(({ id }) => id), environment };
}
const addresses = (of: Filled): string[] =>
  Object.values(SCREENS).flatMap((paths) => paths(of).map((path) => `/w/${of.workspace}/${path}`));

/** Opens an address, and waits until it is there. */
async function at(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.locator('main h1').first()).toBeAttached();
  await page.waitForLoadState('networkidle');
}

/** In both themes. What is looked at is the same, but for its colours. */
async function accessibleInBoth(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await accessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await accessible(page, COLOURS);
}

test('every screen is accessible when it is empty, in light and dark', async ({ page, account }) => {
  test.setTimeout(400_000);
  for (const path of [...EMPTY, 'nothing/of/this/name']) {
    await at(page, `/w/${account.workspace}/${path}`);
    await accessibleInBoth(page);
  }
});

test('what people see before they are signed in is accessible, in light and dark, on a phone as well', async ({
  page,
}) => {
  let sizes = [DESKTOP, PHONE];
  for (const path of Object.values(OUTSIDE)) {
    // Another hash alone would not open it anew.
    await page.goto('about:blank');
    await at(page, path);
    for (const size of sizes) {
      await resize(page, size);
      await accessibleInBoth(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, path).toBeLessThanOrEqual(size.width);
      expect(await tooSmall(page), path).toEqual([]);
    }
    // To and fro: every other one is opened on the phone.
    sizes = sizes.toReversed();
  }
});

/** What is smaller than 24 pixels, but for links within text and what is a part of something larger to press. */
const tooSmall = (page: Page) =>
  page.evaluate(() => {
    const controls =
      'a, button, input, select, textarea, summary, [role=tab], [role=option], [role=treeitem]';
    return [...document.querySelectorAll<HTMLElement>(controls)]
      .filter((each) => each.checkVisibility({ checkVisibilityCSS: true }))
      .filter((each) => !each.closest('.visually-hidden, .svelte-flow') && !each.matches('p a, td a'))
      .filter((each) => {
        const largest = [each, ...((each as HTMLInputElement).labels ?? [])].map((it) =>
          it.getBoundingClientRect(),
        );
        // The link of a row is all of the row, by what is drawn behind it.
        const behind = getComputedStyle(each, '::after');
        return (
          !(behind.position === 'absolute' && behind.content !== 'none') &&
          !largest.some(({ height, width }) => height >= 24 && width >= 24) &&
          largest.some(({ width }) => width > 1)
        );
      })
      .map((each) => each.outerHTML.slice(0, 120));
  });

/** What can be pressed and stands outside of the window, where nothing scrolls to it. */
const unreachable = (page: Page) =>
  page.evaluate(() => {
    const scrolls = (box: Element) => /auto|scroll/.test(getComputedStyle(box).overflowY);
    return [...document.querySelectorAll<HTMLElement>('main a, main button, main input, main li, main dd')]
      .filter((each) => each.checkVisibility({ checkVisibilityCSS: true }))
      .filter((each) => !each.closest('.visually-hidden, [role=application]'))
      .filter((each) => each.getBoundingClientRect().top > window.innerHeight)
      .filter((each) => {
        for (let box = each.parentElement; box; box = box.parentElement) if (scrolls(box)) return false;
        return true;
      })
      .map((each) => each.outerHTML.slice(0, 120));
  });

// Each half by itself, so that both processors have one.
for (const half of [0, 1]) {
  test(`every screen is accessible, on a phone as well, and loses nothing at 400 %: half ${half + 1} of 2`, async ({
    page,
    account,
  }) => {
    test.setTimeout(400_000);
    const found: unknown[] = [];
    const all = addresses(await filled(page, account.workspace));
    // To and fro: every other screen is opened narrow.
    let sizes = [DESKTOP, PHONE, ENLARGED];
    for (const path of all.filter((_, place) => place % 2 === half)) {
      await at(page, path);
      for (const size of sizes) {
        await resize(page, size);
        if (size !== ENLARGED) {
          await accessibleInBoth(page);
          continue;
        }
        // No page is wider than the window, and all can be pressed.
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        const small = await tooSmall(page);
        const cut = await unreachable(page);
        if (wide > ENLARGED.width || small.length + cut.length > 0) found.push({ path, wide, small, cut });
      }
      sizes = sizes.toReversed();
    }
    expect(found).toEqual([]);
  });
}

test('everything can be gone to by keyboard', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  // The second key counts for a second only, which may pass on a machine that is busy.
  await expect(async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    const there = page.getByRole('heading', { level: 1, name: 'Environments' });
    await expect(there).toBeVisible({ timeout: 5_000 });
  }).toPass();

  const palette = page.getByRole('dialog').getByRole('combobox', { name: 'Search' });
  await page.keyboard.press('Control+k');
  await expect(palette).toBeFocused();
  await page.keyboard.type('api ke');
  await accessible(page);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();

  await page.keyboard.press('Control+k');
  await expect(palette).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
});

test('on a phone, the navigation opens and closes, and lists stay readable', async ({ page, account }) => {
  await page.setViewportSize(PHONE);
  await page.goto(`/w/${account.workspace}/patterns`);
  const menu = page.getByRole('button', { name: 'Menu' });
  await menu.click();
  await accessible(page);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('link', { name: 'Deployments' })).toBeHidden();
  await expect(menu).toBeFocused();
  await menu.click();
  await page.getByRole('link', { name: 'Deployments' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Deployments' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Patterns', exact: true })).toBeHidden();
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect(isWide).toBe(false);
});

test('filters of runs are saved as a view, which survives a reload, and removed', async ({
  page,
  account,
}) => {
  await page.goto(`/w/${account.workspace}/runs`);
  const status = page.getByRole('combobox', { name: 'Status' });
  await status.selectOption('failure');
  await page.getByRole('searchbox', { name: 'Search runs' }).fill('stock');
  await expect(page).toHaveURL(/q=stock/);
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Save these filters…' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Out of stock');
  await accessible(page);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Out of stock' })).toBeVisible();
  await page.getByRole('button', { name: 'Show all runs' }).click();
  await expect(page).not.toHaveURL(/status=/);

  await page.reload();
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Out of stock' }).click();
  await expect(page).toHaveURL(/\?status=failure&q=stock$/);
  await expect(status).toHaveValue('failure');
  await expect(page.getByRole('searchbox', { name: 'Search runs' })).toHaveValue('stock');
  await page.getByRole('button', { name: 'Out of stock' }).click();
  await accessible(page);
  await page.getByRole('menuitem', { name: 'Remove “Out of stock”' }).click();
  await expect(page.getByRole('button', { name: 'Views' })).toBeVisible();
});

test('several runs are selected by keyboard, and retried together', async ({ page, account }) => {
  const orders = await deployOrders(page);
  await send(orders, { order: null });
  await send(orders, { order: null });
  await page.goto(`/w/${account.workspace}/runs`);
  const table = page.getByRole('table', { name: 'Runs' });
  await expect(table.getByText('Failed', { exact: true })).toHaveCount(2);
  await table.locator('[data-row="0"]').focus();
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await expect(table.locator('[data-row="1"]')).toBeFocused();
  await page.keyboard.press('x');
  const selected = page.getByRole('group', { name: 'Selected runs' });
  await expect(selected).toContainText('2 selected');
  await expect(table.getByRole('checkbox', { checked: true })).toHaveCount(2);
  await accessible(page);
  await selected.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByText('Retried 2 runs.').first()).toBeVisible();
  await expect(selected).toBeHidden();
  await expect(table.locator('[data-row]')).toHaveCount(4);
});
