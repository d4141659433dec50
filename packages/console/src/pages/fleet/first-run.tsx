/** Shown without devices: the OTA address for a board, and a button that starts a virtual device. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { ProblemNote, Warning } from "../../ui/problem.tsx";
import { Empty } from "../../ui/states.tsx";

export function FirstRun() {
  const { t } = useI18n();
  const { gateway, may } = useSession();
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: () => api("/demo/devices", { method: "POST" }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.fleets }),
  });
  return (
    <Empty icon="fleet" title={t("firstRun.title")}>
      <p>{t("firstRun.board")}</p>
      <div className="w-full text-left">
        <CodeBlock text={gateway.ota} label={t("firstRun.otaLabel")} />
      </div>
      {gateway.otaProblem !== undefined && (
        <Warning title={t("reach.title")}>
          <p>{t(`reach.${gateway.otaProblem}`, { host: new URL(gateway.ota).hostname })}</p>
        </Warning>
      )}
      {gateway.demo && may("admin") && (
        <>
          <p>{t("firstRun.demo")}</p>
          <Button look="primary" icon="play" disabled={start.isPending} onClick={() => start.mutate()}>
            {t("firstRun.start")}
          </Button>
        </>
      )}
      {start.isError && <ProblemNote error={start.error} />}
    </Empty>
  );
}
