/** Unpacks a file and splits it into lines: the least that any import must do. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { input, tell } from '../program.ts';

const { file } = input as { file: string };
let lines = 0;
for await (const line of createInterface(createReadStream(file).pipe(createGunzip()))) lines += line === '' ? 0 : 1;
tell({ lines });
