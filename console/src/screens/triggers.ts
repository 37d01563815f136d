/** What starts runs, in words. */

const TYPES: Readonly<Record<string, string>> = {
  OnWebhook: 'Webhook',
  OnSchedule: 'Schedule',
  OnManual: 'Manual',
  OnEmail: 'Email',
  OnError: 'Errors',
  OnCall: 'Calls',
};

/** For example `Webhook, 2 schedules`. */
export function triggerNames(triggers: readonly { type: string }[]): string {
  const counts = new Map<string, number>();
  for (const { type } of triggers) {
    const name = TYPES[type] ?? type.replace(/^On/, '');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Array.from(counts, ([name, count]) => (count === 1 ? name : `${name} × ${count}`)).join(', ');
}

const STARTED_BY: Readonly<Record<string, string>> = {
  manual: 'By hand',
  webhook: 'Webhook',
  schedule: 'Schedule',
  email: 'Email',
  error: 'An error',
  call: 'Another pattern',
};

/** What started a run. */
export const startedBy = (trigger: string): string => STARTED_BY[trigger] ?? trigger;
