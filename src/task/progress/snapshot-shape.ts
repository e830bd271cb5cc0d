import type { Shape } from '../../state/check-shape.ts';

const MARKS: Shape = { files: { '*': 'string' }, complete: 'boolean', limits: ['string'] };

/** What a stored snapshot of this version must be, before it is compared with. */
export const SNAPSHOT_SHAPE: Shape = {
  version: '1..1',
  taskDir: 'string',
  task: MARKS,
  git: [
    'null',
    {
      head: 'string',
      index: { '*': 'string' },
      tree: MARKS,
      committed: ['null', { since: 'string', files: ['string'], onlyLeftOut: 'boolean' }],
    },
  ],
  gitLimit: 'string?',
};
