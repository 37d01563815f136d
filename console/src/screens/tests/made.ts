/** What people are told of a test that was just made. */

import type { MadeTest } from '$/api/tests';
import { refresh } from '$/api/queries';
import { location } from '$/location.svelte';
import { toast } from '$/parts/toasts.svelte';
import { madeText } from './words';

export async function made(pattern: string, found: MadeTest): Promise<void> {
  await refresh('tests', pattern);
  toast.ok(madeText(found), {
    label: 'Open',
    run: () => location.go(location.to('tests', { pattern }, { test: found.test.id })),
  });
}
