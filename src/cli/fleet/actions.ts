/** Actions of `ralph-loop fleet`: the word after it. */
export const ACTIONS = [
  'worker',
  'add',
  'status',
  'logs',
  'steer',
  'pause',
  'resume',
  'cancel',
  'retry',
  'dashboard',
  'doctor',
] as const;

export type FleetAction = (typeof ACTIONS)[number];
