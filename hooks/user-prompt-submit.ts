import { runHook } from '../src/drive/hook/run-hook.ts';
import { userPromptSubmit } from '../src/drive/hook/user-prompt-submit.ts';

// The user's prompt is passed on whatever happens here; the log has the details.
void runHook(['UserPromptSubmit'], userPromptSubmit, () => null);
