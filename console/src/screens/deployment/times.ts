/** Times of a schedule, as its zone's clocks show them. Pure: `tests/unit/screens.test.ts`. */

/** Whether an expression names seconds: it has six fields. */
export const hasSeconds = (cron: string): boolean => cron.trim().split(/\s+/).length === 6;

/** For example `Mon 23 Nov, 09:00`, or `09:00:30` where seconds count; in UTC if there is no such zone. */
export function timeIn(time: string, zone: string, cron: string): string {
  const format = (timeZone: string) =>
    new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      ...(hasSeconds(cron) && { second: '2-digit' }),
    }).format(new Date(time));
  try {
    return format(zone);
  } catch (error) {
    if (error instanceof RangeError) return `${format('UTC')} UTC`;
    throw error;
  }
}
