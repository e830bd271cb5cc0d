import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleetVariables, hideFleetVariables } from '../../../src/state/process/fleet-variables.ts';

test('removes the variables of the fleet from the environment and keeps them', () => {
  const env: NodeJS.ProcessEnv = { PATH: '/bin', RALPH_FLEET_KEY: 'secret', RALPH_FLEET_URL: '', RALPH_FLEETS: 'x' };
  hideFleetVariables(env);
  assert.deepEqual(env, { PATH: '/bin', RALPH_FLEETS: 'x' });
  assert.equal(fleetVariables()['RALPH_FLEET_KEY'], 'secret');
  assert.equal(fleetVariables()['RALPH_FLEET_URL'], undefined);
});
