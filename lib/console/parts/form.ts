/** What somebody fills in and sends: the values of the fields, whether they are being sent, and what was wrong with them. */
import { type ChangeEvent, type FormEvent, useState } from 'react';
import { changedOf } from '../client/json.ts';
import { faultOf } from './problem.tsx';

/** Does what may be refused. */
export function useSubmission() {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  return {
    isBusy,
    /** Why the last attempt failed; null: it did not. */
    error,
    forget: () => setError(null),
    /** Does it; where it is refused, `error` says why. */
    attempt: async (act: () => Promise<unknown>): Promise<void> => {
      setBusy(true);
      setError(null);
      try {
        await act();
      } catch (problem) {
        setError(problem);
      } finally {
        setBusy(false);
      }
    },
  };
}

type Names<Values, Value> = { [Name in keyof Values]: Values[Name] extends Value ? Name : never }[keyof Values] &
  string;

type Typed = ChangeEvent<HTMLInputElement | HTMLTextAreaElement>;
type Ticked = ChangeEvent<HTMLInputElement>;

export type Form<Values extends object> = ReturnType<typeof useForm<Values>>;

/** Fields by their names, which are those of the API: what a refusal says of one is shown beside it. */
export function useForm<Values extends object>(initial: Values) {
  const submission = useSubmission();
  const [values, setValues] = useState(initial);
  const [begun, setBegun] = useState(initial);
  const set = (some: Partial<Values>): void => setValues((all) => ({ ...all, ...some }));
  /** What was wrong last, and the values that were there when that was told. */
  const [told, setTold] = useState<{ readonly error: unknown; readonly of: Values }>({ error: null, of: initial });
  if (told.error !== submission.error) setTold({ error: submission.error, of: values });
  // What was said of a value is not said of another one that is written after it was told.
  const field = (name: keyof Values & string) => ({
    error: values[name] === told.of[name] ? faultOf(submission.error, name) : undefined,
  });
  return {
    ...submission,
    values,
    /** What is otherwise than it began. */
    changed: changedOf(values, begun),
    set,
    /** Returns what a form takes that does this when it is sent. */
    sends: (act: () => Promise<unknown>) => (event: FormEvent) => {
      event.preventDefault();
      void submission.attempt(act);
    },
    /** Begins anew. */
    begin: (): void => {
      submission.forget();
      setValues(initial);
      setBegun(initial);
    },
    /** Returns what a field of text takes. */
    text: (name: Names<Values, string>) => ({
      ...field(name),
      value: values[name] as string,
      onChange: (event: Typed) => set({ [name]: event.currentTarget.value } as Partial<Values>),
    }),
    /** Returns what a choice of one takes. */
    choice: <Name extends Names<Values, string>>(name: Name) => ({
      ...field(name),
      value: values[name],
      allowDeselect: false,
      onChange: (value: Values[Name] | null) => value !== null && set({ [name]: value } as unknown as Partial<Values>),
    }),
    /** Returns what a checkbox or a switch takes. */
    tick: (name: Names<Values, boolean>) => ({
      ...field(name),
      checked: values[name] as boolean,
      onChange: (event: Ticked) => set({ [name]: event.currentTarget.checked } as Partial<Values>),
    }),
  };
}
