/** Boards that show a code and wait for approval: a slim bar that opens. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Decided, PendingDevice, PendingList } from "@tendon/protocol";
import { useState } from "react";
import { Link } from "wouter";
import { ApiError, api, inPath } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextInput } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { OpeningBar } from "../../ui/opening-bar.tsx";
import { Alert, ProblemNote } from "../../ui/problem.tsx";
import { Badge } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";

const shownAtOnce = 10;

export function usePendingBoards() {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.pending,
    queryFn: ({ signal }) => api<PendingList>("/devices/pending", { signal }),
    enabled: may("provision"),
    staleTime: 10_000,
    refetchInterval: 60_000,
  });
}

export function PendingBoards({ onApproved }: { readonly onApproved: (device: Decided) => void }) {
  const { t, n } = useI18n();
  const client = useQueryClient();
  const { data } = usePendingBoards();
  const [code, setCode] = useState("");
  const decided = async (device: Decided) => {
    setCode("");
    byCode.reset();
    byId.reset();
    onApproved(device);
    await Promise.all([keys.pending, keys.fleets].map((queryKey) => client.invalidateQueries({ queryKey })));
  };
  const byCode = useMutation({
    mutationFn: (typed: string) =>
      api<Decided>("/devices/approve", { method: "POST", body: { code: typed } }),
    onSuccess: decided,
  });
  const byId = useMutation({
    mutationFn: (device: string) => api<Decided>(`/devices/${inPath(device)}/approve`, { method: "POST" }),
    onSuccess: decided,
  });
  if (data === undefined || data.total === 0) return null;
  const error = byCode.error ?? byId.error;
  return (
    <OpeningBar
      label={t("pending.title")}
      icon="clock"
      tone="text-warn"
      text={n("pending.bar", data.total)}
      action={(isOpen) => t(isOpen ? "pending.close" : "pending.open")}
    >
      <div className="flex flex-col gap-3 px-4 pt-1 pb-3">
        <p className="text-sm text-soft">{t("pending.lead")}</p>
        <form
          className="flex gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            byCode.mutate(code.replaceAll(/\D/g, ""));
          }}
        >
          <TextInput
            aria-label={t("pending.code")}
            placeholder="123456"
            inputMode="numeric"
            autoComplete="off"
            maxLength={9}
            value={code}
            onChange={({ target }) => setCode(target.value)}
            className="max-w-32 font-mono"
          />
          <Button
            type="submit"
            look="primary"
            disabled={byCode.isPending || code.replaceAll(/\D/g, "").length !== 6}
          >
            {t("pending.approve")}
          </Button>
        </form>
        {byCode.error instanceof ApiError && byCode.error.code === "device_unknown" ? (
          <Alert>
            <p className="font-medium">{t("pending.wrongCode")}</p>
            <p className="text-text">{t("pending.wrongCodeHint")}</p>
          </Alert>
        ) : (
          error !== null && <ProblemNote error={error} />
        )}
      </div>
      <ul className="divide-y divide-line border-t border-line">
        {data.pending.slice(0, shownAtOnce).map((board) => (
          <li
            key={board.device + board.since}
            className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5"
          >
            <BoardDetails board={board} />
            <Button disabled={byId.isPending} onClick={() => byId.mutate(board.device)}>
              {t("pending.approveThis")}
            </Button>
          </li>
        ))}
      </ul>
    </OpeningBar>
  );
}

/** Confirms that a board was approved: the bar of waiting boards may be gone by then. */
export function ApprovedNote({
  device,
  onClose,
}: {
  readonly device: Decided;
  readonly onClose: () => void;
}) {
  const { t } = useI18n();
  return (
    <div
      role="status"
      className="mb-4 flex items-center gap-2 rounded-xl bg-ok-soft py-1 pr-1.5 pl-4 text-ok"
    >
      <Icon name="check" size={15} />
      <p className="min-w-0 flex-1 break-words">
        <span className="font-medium">{t("pending.approved", { name: device.alias })}</span>{" "}
        <Link href={deviceAddress(device.id)} className="ml-1 rounded underline">
          {t("call.openDevice")}
        </Link>
      </p>
      <IconButton icon="cross" label={t("action.close")} onClick={onClose} />
    </div>
  );
}

function BoardDetails({ board }: { readonly board: PendingDevice }) {
  const { t } = useI18n();
  return (
    <span className="min-w-0">
      <span className="flex flex-wrap items-center gap-2 font-medium">
        {board.board ?? t("device.unknownBoard")}
        {board.standing === "taken" && <Badge tone="warn">{t("pending.taken")}</Badge>}
        {board.standing === "revoked" && <Badge tone="bad">{t("pending.revoked")}</Badge>}
        {board.proof === "failed" && <Badge tone="bad">{t("pending.proofFailed")}</Badge>}
      </span>
      <span className="block text-sm text-soft">
        {board.device} {board.firmware} {board.from !== null && `· ${board.from}`} · <Ago at={board.since} />
      </span>
    </span>
  );
}
