// A contender of client-go's for a Lease: leader KUBECONFIG NAMESPACE NAME IDENTITY DURATION DEADLINE RETRY (Go durations).
// It writes a line for each moment in which it leads: beat TERM NANOSECONDS, by the machine's monotonic clock, and says which
// leaders it sees: leader IDENTITY. On SIGTERM it gives the Lease away and ends.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// monotonic is what process.hrtime.bigint() says in Node.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

func duration(text string) time.Duration {
	value, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return value
}

// carefulLock keeps what client-go does not, when its process is stopped while a request is under way and another leads by
// the time it goes on: client-go counts a renewal from its answer, not from its start, and gives away a Lease that it reads
// as the other's, since it asks only whether it led when it last looked.
type carefulLock struct {
	resourcelock.LeaseLock
	// When the last write that succeeded began.
	heldSince atomic.Int64
	// Who held the Lease when it was read last.
	holder string
}

func (l *carefulLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err == nil {
		l.holder = record.HolderIdentity
	}
	return record, raw, err
}

func (l *carefulLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(func() error { return l.LeaseLock.Create(ctx, record) })
}

func (l *carefulLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.holder != l.Identity() {
		return fmt.Errorf("held by %q: not given away", l.holder)
	}
	return l.note(func() error { return l.LeaseLock.Update(ctx, record) })
}

func (l *carefulLock) note(write func() error) error {
	began := monotonic()
	err := write()
	if err == nil {
		l.heldSince.Store(began)
	}
	return err
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	identity := os.Args[4]
	lease, deadline := duration(os.Args[5]), duration(os.Args[6])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lock := &carefulLock{LeaseLock: resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]},
		Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
	var elector *leaderelection.LeaderElector
	term := atomic.Int64{}
	lead := func(ctx context.Context) {
		mine := term.Add(1)
		for ; ; time.Sleep(5 * time.Millisecond) {
			// Before the questions: whatever stops this process in between, the line is about a moment in which it led.
			now := monotonic()
			if ctx.Err() != nil {
				return
			}
			// client-go tells of a loss some time after it; a program that must be sure asks before each thing it does.
			if elector.IsLeader() && now-lock.heldSince.Load() < deadline.Nanoseconds() {
				fmt.Printf("beat %d %d\n", mine, now)
			} else {
				// It may have the Lease again before it has told of the loss: it led twice, with somebody else in between.
				mine = term.Add(1)
			}
		}
	}
	elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   lease,
		RenewDeadline:   deadline,
		RetryPeriod:     duration(os.Args[7]),
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: lead,
			OnStoppedLeading: func() {},
			OnNewLeader:      func(leader string) { fmt.Printf("leader %s\n", leader) },
		},
	})
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		elector.Run(ctx)
	}
}
