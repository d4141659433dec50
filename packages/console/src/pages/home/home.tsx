/** The simulated home as a floor plan. Switching a light is an ordinary call and appears in the history. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { callTool, readTool, type ToolCall } from "../../api/calls.ts";
import { ApiError } from "../../api/client.ts";
import { deviceQuery, toolsQuery } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useEvents, useIsLive } from "../../live/live-context.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, SkeletonRows } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { FloorPlan } from "./floor-plan.tsx";
import { HomeSide } from "./home-side.tsx";
import { type HomeState, readHome } from "./home-state.ts";

const home = "home";
const homeKey = ["home"] as const;

export function HomePage() {
  const { t } = useI18n();
  const { may } = useSession();
  const live = useIsLive();
  const client = useQueryClient();
  const device = useQuery({ ...deviceQuery(home), retry: false });
  const tools = useQuery({ ...toolsQuery(home), enabled: device.data !== undefined });
  const online = device.data?.online === true;
  const state = useQuery({
    queryKey: homeKey,
    queryFn: async () => readHome((await readTool(home, "get_all_states")).result),
    enabled: online && may("call"),
    staleTime: 5_000,
  });
  const again = () => client.invalidateQueries({ queryKey: homeKey });
  useEvents(["device.notification", "call.finished"], ({ type, device: of, data }) => {
    if (of === home && (type === "device.notification" || String(data["tool"]).match(/^(set_|activate_)/)))
      void again();
  });
  const change = useMutation({
    mutationFn: (pending: ToolCall & { readonly expected: HomeState }) => callTool(home, pending),
    onMutate: ({ expected }) => {
      const before = client.getQueryData<HomeState>(homeKey);
      client.setQueryData(homeKey, expected);
      return { before };
    },
    onError: (_error, _wish, context) => client.setQueryData(homeKey, context?.before),
    onSettled: again,
  });
  if (device.error instanceof ApiError && device.error.code === "device_unknown")
    return <NoHome title={t("home.none")} hint={t("home.noneHint")} />;
  const known = state.data;
  if (live && device.data !== undefined && !online && known === undefined)
    return <NoHome title={t("home.away")} hint={t("home.awayHint")} />;
  const usable = online && live && may("call");
  return (
    <>
      <PageHeader
        title={t("home.title")}
        lead={t("home.lead")}
        actions={
          <Link href={deviceAddress(home)} className="text-sm text-accent-deep underline">
            {t("home.asDevice")}
          </Link>
        }
      />
      {device.isError && <ProblemNote error={device.error} />}
      {!live && known !== undefined && <p className="mb-3 text-warn">{t("live.memory")}</p>}
      {live && device.data !== undefined && !online && <p className="mb-3 text-warn">{t("home.offline")}</p>}
      {state.isError && <ProblemNote error={state.error} />}
      {change.isError && (
        <div className="mb-3">
          <ProblemNote error={change.error} />
        </div>
      )}
      {known === undefined && state.isFetching && <SkeletonRows rows={8} />}
      {known !== undefined && (
        <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
          <FloorPlan
            home={known}
            disabled={!usable}
            onSwitch={(name, on) =>
              change.mutate({
                tool: "set_light_state",
                args: { name, on },
                expected: { ...known, lights: { ...known.lights, [name]: on } },
              })
            }
          />
          <HomeSide
            home={known}
            tools={tools.data?.tools ?? []}
            disabled={!usable}
            onChange={(tool, args, expected) => change.mutate({ tool, args, expected })}
          />
          <p className="text-sm text-soft">
            {t("home.asOf")} <Ago at={new Date(state.dataUpdatedAt).toISOString()} />
          </p>
        </div>
      )}
    </>
  );
}

/** How to run the simulated home. */
function NoHome({ title, hint }: { readonly title: string; readonly hint: string }) {
  const { t } = useI18n();
  const { gateway } = useSession();
  return (
    <>
      <PageHeader title={t("home.title")} />
      <Empty icon="home" title={title}>
        <p>{hint}</p>
        <div className="w-full text-left">
          <CodeBlock text={`${gateway.command} serve --demo`} label={t("home.command")} />
        </div>
      </Empty>
    </>
  );
}
