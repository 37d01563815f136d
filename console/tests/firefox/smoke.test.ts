import { launch, type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Server } from '../e2e/server';

const PERSON = { email: 'ann@example.com', password: 'correct-horse', firstName: 'Ann', lastName: 'Lee' };
const WAIT_MS = 30_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  server = await Server.start();
  browser = await launch({
    browser: 'firefox',
    executablePath: process.env['FIREFOX_BIN'] ?? '/usr/bin/firefox-esr',
    headless: true,
    // It asks nobody for updates, experiments and the like.
    extraPrefsFirefox: { 'app.normandy.enabled': false, 'network.captive-portal-service.enabled': false },
  });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Registers somebody with a pattern of two nodes that are not connected; its address. */
async function prepare(): Promise<string> {
  const ask = async <T>(path: string, token = '', body?: object): Promise<T> => {
    const reply = await fetch(server.url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as T;
  };
  const { data } = await ask<{ data: { token: string } }>('/api/auth/register', '', PERSON);
  const workspaces = await ask<{ data: { id: string }[] }>('/api/workspaces', data.token);
  const node = (id: string, type: string, x: number, parameters = {}) => ({
    id,
    type,
    position: { x, y: 0 },
    data: { label: id, parameters },
  });
  const nodes = [node('Start', 'OnManual', 0), node('End', 'Return', 400, { value: '{{ 6 * 7 }}' })];
  const graphData = { nodes, edges: [] };
  const pattern = { name: 'In Firefox', graphData };
  const { id } = await ask<{ id: string }>('/api/patterns/import', data.token, pattern);
  return `/w/${workspaces.data[0]?.id}/patterns/${id}`;
}

const shows = (page: Page, text: string) => page.waitForSelector(`::-p-text(${text})`, { timeout: WAIT_MS });

async function centre(page: Page, selector: string): Promise<{ x: number; y: number }> {
  const element = await page.waitForSelector(selector, { timeout: WAIT_MS });
  const box = await element?.boundingBox();
  if (!box) throw new Error(`${selector} is not shown.`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

test('somebody signs in, draws an edge, runs the pattern, and sees what it gave', async () => {
  const path = await prepare();
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // What the server answers is looked at by what the page makes of it.
    if (message.type() === 'error' && !/status of 40\d/.test(message.text())) complaints.push(message.text());
  });

  await page.goto(server.url + path);
  await page.locator('input[type=email]').fill(PERSON.email);
  await page.locator('input[type=password]').fill(PERSON.password);
  await page.locator('button[type=submit]').click();
  await shows(page, 'Saved as 1');

  const from = await centre(page, '[data-nodeid=Start][data-handleid=out]');
  const to = await centre(page, '[data-nodeid=End][data-handleid=in]');
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, from.y + 20, { steps: 5 });
  await page.mouse.move(to.x, to.y, { steps: 5 });
  await page.mouse.up();
  await shows(page, 'Draft on the server');
  await page.waitForSelector('path.line', { timeout: WAIT_MS });

  await page.keyboard.down('Control');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.keyboard.up('Control');
  await shows(page, 'Succeeded');
  await page.locator('::-p-aria([name="Output"][role="tab"])').click();
  await shows(page, '42');
  expect(complaints).toEqual([]);
});
