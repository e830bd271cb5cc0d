import { makeCheckpoint } from '../../../src/fleet/git/checkpoint.ts';
import { fetchMirror } from '../../../src/fleet/git/mirror.ts';
import { openWorkspace, type WorkspaceRequest } from '../../../src/fleet/git/workspace.ts';
import { meta } from '../../unit/fleet/git/support/fleet-place.ts';

/** A worker that opens a loop and makes a checkpoint of it, as often as its parent lets it live. */
const [dir = '', request = ''] = process.argv.slice(2);
const place = { dir, env: process.env };
const wanted = JSON.parse(request) as WorkspaceRequest;
await fetchMirror(place, wanted.repository);
const ws = await openWorkspace(place, wanted);
await makeCheckpoint(ws, meta(2));
console.log(ws.dir);
