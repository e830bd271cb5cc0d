import { validateInput } from '../src/drive/hook/validate-json.ts';
import { checkOutput } from '../src/task/skill-contract/check-output.ts';

validateInput('output', checkOutput);
