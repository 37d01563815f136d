/** What starts runs, in words. */

/** What starts runs at triggers of these types, by whose names deployments keep them. `tests/tidy` compares it with the catalogue. */
const STARTS: Readonly<Record<string, string>> = {
  OnWebhook: 'webhook',
  OnForm: 'form',
  OnChat: 'chat',
  OnSchedule: 'schedule',
  OnPoll: 'poll',
  OnManual: 'manual',
  OnCall: 'call',
  OnEmail: 'email',
  OnMailbox: 'mailbox',
  OnError: 'error',
};

const NAMES: Readonly<Record<string, string>> = {
  webhook: 'Webhook',
  form: 'Form',
  chat: 'Chat',
  schedule: 'Schedule',
  poll: 'Poll',
  manual: 'Manual',
  call: 'Calls',
  email: 'Email',
  mailbox: 'Mailbox',
  error: 'Errors',
};

/** Whether runs start at a trigger in this way. */
export const startsBy = ({ type }: { readonly type: string }, start: string): boolean =>
  STARTS[type] === start;

/** For example `Webhook, 2 schedules`. */
export function triggerNames(triggers: readonly { type: string }[]): string {
  const counts = new Map<string, number>();
  for (const { type } of triggers) {
    const name = NAMES[STARTS[type] ?? ''] ?? type.replace(/^On/, '');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Array.from(counts, ([name, count]) => (count === 1 ? name : `${name} × ${count}`)).join(', ');
}

const STARTED_BY: Readonly<Record<string, string>> = {
  manual: 'By hand',
  webhook: 'Webhook',
  form: 'Form',
  schedule: 'Schedule',
  email: 'Email',
  error: 'An error',
  call: 'Another pattern',
};

/** What started a run. */
export const startedBy = (trigger: string): string => STARTED_BY[trigger] ?? trigger;
