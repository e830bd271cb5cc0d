import { runHook } from '../src/drive/hook/run-hook.ts';
import { userPromptSubmit } from '../src/drive/hook/user-prompt-submit.ts';

// A prompt of the user goes through whatever happens here; the log has the details.
void runHook(['UserPromptSubmit'], userPromptSubmit, () => null);
