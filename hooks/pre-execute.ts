import { validateInput } from '../src/drive/hook/validate-json.ts';
import { checkInput, unknownKeys } from '../src/task/skill-contract/schema-problems.ts';

validateInput('input', checkInput, unknownKeys);
