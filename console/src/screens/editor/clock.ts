/** A time of day as the reader has it, without a day: `14:02`. */
export const clock = (time: Date | string): string =>
  new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
