package web

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys other than letters.
const (
	enter      = kb.Enter
	escape     = kb.Escape
	tabKey     = kb.Tab
	arrowUp    = kb.ArrowUp
	arrowDown  = kb.ArrowDown
	arrowLeft  = kb.ArrowLeft
	arrowRight = kb.ArrowRight
	home       = kb.Home
	end        = kb.End

	modifierShift = kb.ModifierShift
)

func navigate(address string) chromedp.Action[chromedp.Void] { return chromedp.Navigate(address) }
