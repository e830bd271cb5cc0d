import { judgeGiven } from '../src/drive/skill-contract/judge-given.ts';
import { checkInput, unknownKeys } from '../src/task/skill-contract/check-input.ts';

judgeGiven('input', checkInput, unknownKeys);
