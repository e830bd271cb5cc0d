import { judgeGiven } from '../src/drive/hook/validate-json.ts';
import { checkInput, unknownKeys } from '../src/task/skill-contract/check-input.ts';

judgeGiven('input', checkInput, unknownKeys);
