/** The program of a worker that computes answers of rows that Athena gave. It has no way to AWS. */
import { serveTasks } from '../../workers/serve.ts';
import { athenaAnswers } from './athena-world.ts';

void serveTasks(async () => ({ 'answer-of-athena': athenaAnswers() }));
