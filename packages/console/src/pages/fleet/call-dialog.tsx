/** Calls one tool on the selected devices: a form, a confirmation with their number, and a result for each. */
import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import type { Device, FleetReply, FleetResult, Job, Tool } from "@tendon/protocol";
import { type ReactNode, useMemo, useState } from "react";
import type { Arguments } from "../../api/calls.ts";
import { api, inPath } from "../../api/client.ts";
import { keys, toolsQuery } from "../../api/queries.ts";
import { type ExpiryChoice, expiries } from "../../api/queued-calls.ts";
import { ToolForm } from "../../forms/tool-form.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Select } from "../../ui/field.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { titleOf } from "../../ui/tool-names.ts";
import { Description } from "../device/description.tsx";
import { formSchema } from "../device/form-schema.ts";
import { initialValues } from "../device/initial-values.ts";
import { ExpirySelect } from "../device/queue-offer.tsx";
import { Names, Outcomes, useResultText } from "./outcomes.tsx";

/** The tools of one device of each board stand for all of them. */
const maxSamples = 12;
const jobEveryMs = 500;

export function CallDialog({
  devices: selected,
  onClose,
}: {
  readonly devices: readonly Device[];
  readonly onClose: () => void;
}) {
  const { t, n } = useI18n();
  const [devices] = useState(selected);
  const { tools, loading } = useTools(devices);
  const [name, setName] = useState("");
  const tool = tools.find((each) => each.name === name) ?? tools[0];
  const [asked, setAsked] = useState<Arguments>();
  const [expiry, setExpiry] = useState<ExpiryChoice>();
  const client = useQueryClient();
  const [results, setResults] = useState<readonly FleetResult[]>([]);
  const run = useMutation({
    mutationFn: (args: Arguments) => callAll(devices, { tool: tool?.name ?? "", args, expiry }, setResults),
    onSettled: () => client.invalidateQueries({ queryKey: keys.fleets }),
  });
  const confirm = (args: Arguments) => {
    if (tool?.annotations.readOnlyHint === true) run.mutate(args);
    else setAsked(args);
  };
  const action = n("bulk.callAction", devices.length);
  return (
    <Dialog
      open
      onClose={onClose}
      wide
      title={n("bulk.callTitle", devices.length)}
      ownClose={run.isPending || run.isSuccess}
    >
      <div className="flex flex-col gap-4 overflow-y-auto p-5">
        {run.isPending || run.isSuccess ? (
          <>
            <p className="text-soft">
              {titleOf(tool?.name ?? "")} <code className="font-mono text-xs">{tool?.name}</code>
            </p>
            <CallOutcomes devices={devices} results={results} />
            <div className="flex justify-end">
              <Button look="primary" onClick={onClose}>
                {t("action.close")}
              </Button>
            </div>
          </>
        ) : asked !== undefined && tool !== undefined ? (
          <>
            <p className="font-medium">
              {n("bulk.callConfirm", devices.length)} {titleOf(tool.name)}{" "}
              <code className="font-mono text-xs font-normal text-soft">{tool.name}</code>
            </p>
            <Names devices={devices} />
            {Object.keys(asked).length > 0 && <JsonView value={asked} />}
            <div className="flex flex-wrap justify-end gap-2">
              <Button autoFocus onClick={() => setAsked(undefined)}>
                {t("action.back")}
              </Button>
              <Button look={isDangerous(tool) ? "danger" : "primary"} onClick={() => run.mutate(asked)}>
                {action}
              </Button>
            </div>
          </>
        ) : (
          <>
            {loading && tools.length === 0 && <Skeleton className="h-8 w-full" />}
            {!loading && tools.length === 0 && <p className="text-soft">{t("bulk.noTools")}</p>}
            {tool !== undefined && (
              <>
                <div className="flex flex-col gap-1">
                  <label htmlFor="bulk-tool" className="text-sm font-medium">
                    {t("confirm.tool")}
                  </label>
                  <Select id="bulk-tool" value={tool.name} onChange={({ target }) => setName(target.value)}>
                    {tools.map((each) => (
                      <option key={each.name} value={each.name}>
                        {titleOf(each.name)} ({each.name})
                      </option>
                    ))}
                  </Select>
                </div>
                <Description text={tool.description} />
                <BulkForm key={tool.name} tool={tool} onSubmit={confirm}>
                  {devices.some(({ online }) => !online) && (
                    <QueueChoice expiry={expiry} onExpiry={setExpiry} />
                  )}
                  <div className="mt-4 flex flex-wrap justify-end gap-2">
                    <Button onClick={onClose}>{t("action.cancel")}</Button>
                    <Button type="submit" look={isDangerous(tool) ? "danger" : "primary"}>
                      {action}
                    </Button>
                  </div>
                </BulkForm>
              </>
            )}
            {run.isError && <ProblemNote error={run.error} />}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Whether the call waits for the devices that are offline, and how long. */
function QueueChoice(props: {
  readonly expiry: ExpiryChoice | undefined;
  readonly onExpiry: (expiry: ExpiryChoice | undefined) => void;
}) {
  const { expiry, onExpiry } = props;
  const { t } = useI18n();
  return (
    <div className="mt-4 flex min-h-8 flex-wrap items-center gap-x-4 gap-y-2">
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={expiry !== undefined}
          onChange={({ target }) => onExpiry(target.checked ? "day" : undefined)}
        />
        {t("queue.bulk")}
      </label>
      {expiry !== undefined && <ExpirySelect expiry={expiry} onExpiry={onExpiry} />}
    </div>
  );
}

function isDangerous({ audience, annotations }: Tool): boolean {
  return audience === "user" && annotations.destructiveHint;
}

function BulkForm(props: {
  readonly tool: Tool;
  readonly onSubmit: (args: Arguments) => void;
  readonly children: ReactNode;
}) {
  const { tool, onSubmit, children } = props;
  const schema = useMemo(() => formSchema(tool.inputSchema), [tool.inputSchema]);
  const [values, setValues] = useState<Arguments>(() => initialValues(schema));
  return (
    <ToolForm
      schema={schema}
      values={values}
      onChange={setValues}
      onSubmit={onSubmit}
      disabled={false}
      idPrefix="bulk"
    >
      {children}
    </ToolForm>
  );
}

/** The tools of the selected devices that the user may call, each once, the most common first. */
function useTools(devices: readonly Device[]): {
  readonly tools: readonly Tool[];
  readonly loading: boolean;
} {
  const samples = useMemo(() => {
    const byBoard = new Map(
      devices.map((device) => [`${device.kind} ${device.board} ${device.firmware}`, device]),
    );
    return [...byBoard.values()].slice(0, maxSamples);
  }, [devices]);
  const answers = useQueries({ queries: samples.map(({ id }) => toolsQuery(id)) });
  const loading = answers.some(({ isPending }) => isPending);
  const counts = new Map<string, { tool: Tool; count: number }>();
  for (const { data } of answers)
    for (const tool of data?.tools ?? []) {
      if (tool.access === "denied") continue;
      const known = counts.get(tool.name);
      counts.set(tool.name, { tool: known?.tool ?? tool, count: (known?.count ?? 0) + 1 });
    }
  const tools = [...counts.values()]
    .sort((a, b) => b.count - a.count || a.tool.name.localeCompare(b.tool.name))
    .map(({ tool }) => tool);
  return { tools, loading };
}

interface BulkCall {
  readonly tool: string;
  readonly args: Arguments;
  /** `undefined`: calls to devices that are offline fail. */
  readonly expiry: ExpiryChoice | undefined;
}

async function callAll(
  devices: readonly Device[],
  { tool, args, expiry }: BulkCall,
  onResults: (results: readonly FleetResult[]) => void,
): Promise<void> {
  const body = {
    target: { devices: devices.map(({ id }) => id) },
    tool,
    arguments: args,
    ...(expiry === undefined ? {} : { whenOffline: "queue", expiresInMs: expiries[expiry] }),
  };
  const answer = await api<FleetReply | { readonly job: string }>("/calls", { method: "POST", body });
  if (!("job" in answer)) {
    onResults(answer.results);
    return;
  }
  for (;;) {
    const job = await api<Job>(`/jobs/${inPath(answer.job)}`);
    onResults(job.results);
    // Queued calls may wait for days; their own pages show how they end.
    if (job.ok + job.failed + job.queued >= job.total) return;
    await new Promise((resolve) => setTimeout(resolve, jobEveryMs));
  }
}

function CallOutcomes({
  devices,
  results,
}: {
  readonly devices: readonly Device[];
  readonly results: readonly FleetResult[];
}) {
  const resultText = useResultText();
  const byId = new Map(devices.map((device) => [device.id, device]));
  const lines = results.map((result) => ({
    device: byId.get(result.device) ?? { id: result.device, alias: result.device },
    ok: result.ok,
    queued: result.state === "queued",
    text: resultText(result),
  }));
  return <Outcomes lines={lines} total={devices.length} />;
}
