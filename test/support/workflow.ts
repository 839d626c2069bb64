import type { ExecutionStatus, Json, MachineName, Workflow } from '../../lib/workflow/workflow.ts';

/** A workflow that runs nothing: it remembers the calls, in order. */
export interface RecordingWorkflow extends Workflow {
  readonly started: { machine: MachineName; name: string; input: Json }[];
  readonly stopped: { machine: MachineName; name: string; cause: string }[];
  /** Ends a started execution. */
  end(name: string, status: Exclude<ExecutionStatus, 'RUNNING'>): void;
}

export function recordingWorkflow(): RecordingWorkflow {
  const statuses = new Map<string, ExecutionStatus>();
  const started: RecordingWorkflow['started'] = [];
  const stopped: RecordingWorkflow['stopped'] = [];
  return {
    started,
    stopped,
    start: async (machine, name, input) => {
      if (statuses.has(name)) return;
      statuses.set(name, 'RUNNING');
      started.push({ machine, name, input });
    },
    stop: async (machine, name, cause) => {
      stopped.push({ machine, name, cause });
      if (statuses.get(name) === 'RUNNING') statuses.set(name, 'ABORTED');
    },
    status: async (_machine, name) => statuses.get(name),
    forget: async (beginning) => {
      const ended = [...statuses].filter(([name, status]) => name.startsWith(beginning) && status !== 'RUNNING');
      for (const [name] of ended) statuses.delete(name);
      return ended.length > 0;
    },
    end: (name, status) => {
      if (statuses.get(name) === 'RUNNING') statuses.set(name, status);
    },
  };
}
