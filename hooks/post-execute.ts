import { judgeGiven } from '../src/drive/skill-contract/judge-given.ts';
import { checkOutput } from '../src/task/skill-contract/check-output.ts';

judgeGiven('output', checkOutput);
