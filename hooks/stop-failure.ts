import { runHook } from '../src/drive/hook/run-hook.ts';
import { stopFailure } from '../src/drive/hook/stop-failure.ts';

void runHook(['StopFailure'], stopFailure, () => null);
