import { plain } from '../basics/plain.ts';
import { counted } from '../basics/text.ts';
import type { NeededBackfill } from '../exports/resource/import-backfills.ts';
import { wireInstant } from '../http/instant.ts';
import type { ImportReport } from '../lake/import/import.ts';
import { backfillRanges } from '../lake/intervals.ts';
import { lacksColumns } from '../lake/sources/open.ts';

const isoRange = ({ from, to }: { from: number; to: number }) => ({ start: wireInstant(from), end: wireInstant(to) });

/** What an import did, and which backfills deliver what no schedule will. */
interface ImportOutcome extends Omit<ImportReport, 'hours'> {
  readonly backfills: readonly NeededBackfill[];
}

/** Returns what is wrong with a file, and by which option it is mended where it is a matter of columns. */
export const problemText = (problem: string): string =>
  lacksColumns(problem) ? `${problem}. Name them with --column <field>=<column>` : problem;

/** The report as `--json` prints it: instants are ISO 8601, and what an import of the API has, too, is called as there. */
export function importObject({ bad, rejected, files, ...report }: ImportOutcome) {
  return {
    ...report,
    files: files.map(({ bad, rejected, ...file }) => ({ ...file, rejected: bad, copy: rejected })),
    rejected: bad,
    rejections: rejected,
    arrival: report.arrival === null ? null : isoRange(report.arrival),
    backfills: report.backfills.map(({ export: id, name, ...range }) => ({ export: id, name, ...isoRange(range) })),
  };
}

/** Where the API of the service is, as a person writes it in a shell, and the project that was imported into. */
interface Imported {
  readonly api: string;
  readonly project: number;
  /** Whether the project has exports, which deliver by themselves what arrives from now on. */
  readonly hasExports: boolean;
}

/** Returns the command that backfills a range of an export. */
function backfillCommand({ api, project }: Imported, id: string, range: { from: number; to: number }): string {
  const { start, end } = isoRange(range);
  return [
    `  curl -i -X POST ${api}/api/projects/${project}/batch_exports/${id}/backfill/ \\`,
    '    -H "Authorization: Bearer $KEY" -H \'Content-Type: application/json\' \\',
    `    -d '{"start_at": "${start}", "end_at": "${end}"}'`,
  ].join('\n');
}

/** Returns what to do next, so that what was added is delivered: commands of a shell that has a key in `KEY`. */
function nextSteps(report: ImportOutcome, imported: Imported): string[] {
  if (!imported.hasExports && report.arrival !== null) {
    // A range ends before its end.
    const arrived = { from: report.arrival.from, to: report.arrival.to + 1 };
    return [
      `Project ${imported.project} has no export that delivers this. Make one (README.md, "Export real events"), then:`,
      ...backfillRanges([arrived]).map((range) => backfillCommand(imported, '<id>', range)),
    ];
  }
  return backfillLines(report.backfills, (id, range) => backfillCommand(imported, id, range));
}

/** Returns lines that tell of each export what it has passed, and by which commands backfills of it deliver that. */
export function backfillLines(
  backfills: readonly NeededBackfill[],
  commandOf: (id: string, range: { from: number; to: number }) => string,
): string[] {
  return [...Map.groupBy(backfills, ({ export: id }) => id)].flatMap(([id, needed]) => {
    const ranges = backfillRanges(needed);
    const deliver = ranges.length === 1 ? 'a backfill delivers them' : `${ranges.length} backfills deliver them`;
    return [
      `Export "${plain(needed[0]?.name ?? '')}" has passed ${counted(needed.length, 'range')} of it; ${deliver}:`,
      ...ranges.map((range) => commandOf(id, range)),
    ];
  });
}

/** What one reading of followed files has done, in a line. */
export function followedText({
  added,
  bad,
  rejected,
  files,
}: Pick<ImportReport, 'added' | 'bad' | 'rejected' | 'files'>) {
  const [first] = rejected;
  const copies = files.flatMap((file) => file.rejected ?? []).join(', ');
  const reasons =
    first === undefined ? '' : `, ${counted(bad, 'record')} rejected (${first.reason}), copied to ${copies}`;
  return `${counted(added, 'event')} added${reasons}`;
}

/** Returns lines that tell of records that were no events: how many, and the first of them. */
export function rejectionLines(
  bad: number,
  first: readonly { readonly file: string; readonly line: number; readonly reason: string }[],
): string[] {
  if (bad === 0) return [];
  return [
    `${counted(bad, 'record')} rejected:`,
    ...first.map(({ file, line, reason }) => `  ${file}:${line}: ${reason}`),
    ...(bad > first.length ? [`  ... and ${bad - first.length} more`] : []),
  ];
}

/** The report for a person. */
export function importText(report: ImportOutcome, imported: Imported): string {
  const { persons } = report;
  const known = `${report.known - report.forgotten} known already`;
  const gone = report.forgotten === 0 ? '' : `, ${report.forgotten} of deleted persons, not taken`;
  const lines = [`${counted(report.events, 'event')}: ${report.added} added, ${known}${gone}`];
  if (persons.read > 0 || persons.rows > 0) {
    const told = persons.read > 0 ? `${counted(persons.read, 'state')} of persons; ` : '';
    lines.push(`${told}${counted(persons.rows, 'row')} added to the model persons`);
  }
  if (persons.refused > 0) {
    lines.push(`${counted(persons.refused, 'change')} of persons refused: merges that may not be, or too large`);
  }
  if (report.arrival !== null) {
    const { start, end } = isoRange(report.arrival);
    lines.push(`They count as arrived from ${start} to ${end}.`);
  }
  for (const { file, problem } of report.files) if (problem !== null) lines.push(`${file}: ${problemText(problem)}`);
  if (report.bad > 0) {
    lines.push(...rejectionLines(report.bad, report.rejected));
    for (const { rejected } of report.files) if (rejected !== null) lines.push(`They were copied to ${rejected}.`);
  }
  return [...lines, ...nextSteps(report, imported)].join('\n');
}
